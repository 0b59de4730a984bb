#include "ops/cuda/device_plan_timer.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "ops/cuda/stream_queue.h"
#include "runtime/base/status.h"
#include "runtime/device/cuda/cuda_captured_step.h"
#include "runtime/device/span_recorder.h"

namespace partita {
namespace {

constexpr int kRepetitions = 10;  // in a graph
constexpr int kReplays = 5;
constexpr int32_t kTag = 0;  // of all repetitions: a captured step takes the time from the first work to the last

using Run = std::function<absl::Status(char*, CudaQueue)>;

absl::Status Enqueue(CudaStream& stream, char* memory, const Run& run) {
  StreamQueue queue(stream);
  const absl::Status status = run(memory, &queue);
  RETURN_IF_ERROR(queue.status());
  return status;
}

absl::StatusOr<std::unique_ptr<CudaCapturedStep>> Capture(CudaStream& stream, char* memory, const Run& run) {
  const CudaTimeline by_events = {.wanted = true, .node_times = nullptr};
  ASSIGN_OR_RETURN(std::unique_ptr<CudaCapturedStep> step,
                   CudaCapturedStep::Begin(&stream.context(), {&stream}, by_events));
  stream.Tag(kTag);
  absl::Status status;
  for (int i = 0; i < kRepetitions && status.ok(); ++i) status = Enqueue(stream, memory, run);
  const absl::Status ended = step->Finish();
  RETURN_IF_ERROR(status);
  RETURN_IF_ERROR(ended);
  return step;
}

// Of all repetitions.
absl::StatusOr<double> SecondsOfReplay(CudaCapturedStep& step, const SpanRecorder& recorder) {
  RETURN_IF_ERROR(step.Launch());
  RETURN_IF_ERROR(step.Wait());
  const std::vector<Span> spans = recorder.Spans();
  if (spans.empty()) return Internal("a plan to be timed enqueues nothing");
  return spans[kTag].end - spans[kTag].begin;
}

absl::StatusOr<double> TimePlan(CudaStream& stream, char* memory, const Run& run) {
  // Loads the plan's code, outside of the capture.
  RETURN_IF_ERROR(Enqueue(stream, memory, run));
  RETURN_IF_ERROR(stream.Synchronize());
  ASSIGN_OR_RETURN(const std::unique_ptr<CudaCapturedStep> step, Capture(stream, memory, run));
  SpanRecorder recorder;
  step->SetRecording(&recorder);
  std::vector<double> seconds(kReplays);
  for (double& value : seconds) {
    ASSIGN_OR_RETURN(value, SecondsOfReplay(*step, recorder));
  }
  const auto median = seconds.begin() + kReplays / 2;
  std::nth_element(seconds.begin(), median, seconds.end());
  return *median / kRepetitions;
}

}  // namespace

PlanTimer MakePlanTimer(CudaDevice& device) {
  return [&device](int64_t bytes, const Run& run) -> absl::StatusOr<double> {
    ASSIGN_OR_RETURN(const std::unique_ptr<Arena> memory, device.Allocate(bytes));
    ASSIGN_OR_RETURN(const std::unique_ptr<Stream> stream, device.CreateStream("timing"));
    return TimePlan(static_cast<CudaStream&>(*stream), static_cast<char*>(memory->data()), run);
  };
}

}  // namespace partita
