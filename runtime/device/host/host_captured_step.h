// A captured step of the host: one list per stream, which the stream's thread walks at each replay, so that no node
// costs a hand-over between threads.
#ifndef PARTITA_RUNTIME_DEVICE_HOST_HOST_CAPTURED_STEP_H_
#define PARTITA_RUNTIME_DEVICE_HOST_HOST_CAPTURED_STEP_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <vector>

#include "runtime/device/device.h"
#include "runtime/device/host/host_node.h"
#include "runtime/device/host/host_stream.h"

namespace partita {

class HostCapturedStep : public CapturedStep {
 public:
  explicit HostCapturedStep(std::function<void(const absl::Status&)> on_failure);
  ~HostCapturedStep() override;

  // While capturing: streams become parts, their work is added to them.
  void AddPart(HostStream* stream) { parts_.push_back({stream, {}}); }
  void Add(int part, const HostNode& node) { parts_[part].nodes.push_back(node); }
  Signal* NewSignal() { return &signals_.emplace_back(); }
  uint64_t id() const { return id_; }  // of this capture, never 0

  // Detaches the streams and marks the first and last task of each tag.
  absl::Status Finish();

  absl::Status Launch() override;
  absl::Status Wait() override;
  void SetRecording(SpanRecorder* recorder) override;

  // On the thread of the part's stream: walks its list once.
  void Run(int part);

 private:
  struct Part {
    HostStream* stream;
    std::vector<HostNode> nodes;
  };

  absl::Status MarkTags();
  template <bool kRecording, bool kDelayed>
  void Walk(const Part& part);
  void Fail(absl::Status status);

  const uint64_t id_;
  const std::function<void(const absl::Status&)> on_failure_;
  std::vector<Part> parts_;
  std::deque<Signal> signals_;  // of the records, each reaches the replay number
  int32_t tags_ = 0;

  // Written between replays, read by the streams' threads during one.
  uint64_t replay_ = 0;
  SpanRecorder* recorder_ = nullptr;

  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::condition_variable ended_;
  int running_ = 0;        // parts that have not ended
  bool launched_ = false;  // a replay was started and not yet waited for
  absl::Status error_;     // the first of this replay
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_DEVICE_HOST_HOST_CAPTURED_STEP_H_
