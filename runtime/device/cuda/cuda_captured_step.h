// A captured step of a GPU: a CUDA graph of all its streams, launched by one call.
//
// The capture begins on the first stream; the others are forked from it by an event and joined at the end, so the graph
// has only the orders that the streams' events define. How the times of tags are taken is decided before the capture:
// by CUPTI (cuda_node_times.h), or by events around each tag that a replay really records, which cost two nodes a tag.
#ifndef PARTITA_RUNTIME_DEVICE_CUDA_CUDA_CAPTURED_STEP_H_
#define PARTITA_RUNTIME_DEVICE_CUDA_CUDA_CAPTURED_STEP_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/device/cuda/cuda_event.h"
#include "runtime/device/cuda/cuda_stream.h"
#include "runtime/device/cuda/timeline/cuda_node_times.h"
#include "runtime/device/device.h"

namespace partita {

// The source of the times of a step's tags.
struct CudaTimeline {
  bool wanted = false;                  // false: no source
  CudaNodeTimes* node_times = nullptr;  // null: events; outlives the step
};

class CudaCapturedStep : public CapturedStep {
 public:
  // Begins the capture. `streams`: at least one.
  static absl::StatusOr<std::unique_ptr<CudaCapturedStep>> Begin(CudaContext* context, std::vector<CudaStream*> streams,
                                                                 CudaTimeline timeline);
  ~CudaCapturedStep() override;

  // Ends the capture, also where it returns an error.
  absl::Status Finish();

  uint64_t id() const { return id_; }  // of this capture, never 0

  // While capturing: `stream` is about to get work of this tag.
  absl::Status BeginTag(CudaStream& stream, int32_t tag);
  // No more work of the tag that got some last, for now. An error is kept for Finish.
  void EndTag();

  // While capturing: `run` is called at each replay.
  void OnLaunch(std::function<void()> run) { on_launch_.push_back(std::move(run)); }

  absl::Status Launch() override;
  absl::Status Wait() override;
  void SetRecording(SpanRecorder* recorder) override;

 private:
  struct TagSpan {
    CudaStream* stream = nullptr;
    std::unique_ptr<CudaEvent> begin, end;  // where events take the times
  };

  CudaCapturedStep(CudaContext* context, std::vector<CudaStream*> streams, CudaTimeline timeline);
  CudaStream& origin() const { return *streams_[0]; }
  absl::Status Fork();
  absl::Status Join();
  absl::Status RecordTime(std::unique_ptr<CudaEvent>& event, CudaStream& stream);
  bool by_events() const { return timeline_.wanted && timeline_.node_times == nullptr; }
  absl::Status ReadSpans();
  absl::Status ReadEvents();
  absl::Status ReadNodeTimes();
  void AddSpan(int32_t tag, double begin_milliseconds, double end_milliseconds);

  CudaContext* const context_;
  const uint64_t id_;
  const std::vector<CudaStream*> streams_;
  const CudaTimeline timeline_;

  std::map<int32_t, TagSpan> tags_;
  int32_t open_tag_ = -1;  // the tag that got work last
  absl::Status tags_failed_;
  int32_t clashing_ = -1;  // a tag that was used on two streams
  CudaStream* clashing_stream_ = nullptr;
  std::unique_ptr<CudaEvent> start_;  // where events take the times
  uint64_t started_at_ = 0;           // else: when the replay was launched, on CUPTI's clock

  std::vector<std::function<void()>> on_launch_;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
  std::unique_ptr<CudaEvent> before_, done_;
  bool launched_ = false;
  SpanRecorder* recorder_ = nullptr;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_DEVICE_CUDA_CUDA_CAPTURED_STEP_H_
