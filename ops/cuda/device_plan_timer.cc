#include "ops/cuda/device_plan_timer.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "ops/cuda/stream_queue.h"
#include "runtime/base/status.h"
#include "runtime/device/cuda/cuda_captured_step.h"
#include "runtime/device/span_recorder.h"

namespace partita {
namespace {

constexpr int kRepetitions = 10;  // in a graph
constexpr int kReplays = 5;
constexpr double kHopeless = 3;  // times the least time of one run
constexpr int64_t kRandomBytes = int64_t{1} << 20;
constexpr int32_t kTag = 0;  // of all repetitions: a captured step takes the time from the first work to the last

using Run = decltype(PlanToTime::run);

absl::Status Enqueue(CudaStream& stream, char* memory, const Run& run) {
  StreamQueue queue(stream);
  const absl::Status status = run(memory, &queue);
  RETURN_IF_ERROR(queue.status());
  return status;
}

absl::StatusOr<std::unique_ptr<CudaCapturedStep>> Capture(CudaStream& stream, char* memory, const Run& run,
                                                          int repetitions) {
  const CudaTimeline by_events = {.wanted = true, .node_times = nullptr};
  ASSIGN_OR_RETURN(std::unique_ptr<CudaCapturedStep> step,
                   CudaCapturedStep::Begin(&stream.context(), {&stream}, by_events));
  stream.Tag(kTag);
  absl::Status status;
  for (int i = 0; i < repetitions && status.ok(); ++i) status = Enqueue(stream, memory, run);
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

// Of one repetition: the median of some replays.
absl::StatusOr<double> TimePlan(CudaStream& stream, char* memory, const Run& run, int repetitions, int replays) {
  ASSIGN_OR_RETURN(const std::unique_ptr<CudaCapturedStep> step, Capture(stream, memory, run, repetitions));
  SpanRecorder recorder;
  step->SetRecording(&recorder);
  std::vector<double> seconds(static_cast<size_t>(replays));
  for (double& value : seconds) {
    ASSIGN_OR_RETURN(value, SecondsOfReplay(*step, recorder));
  }
  const auto median = seconds.begin() + replays / 2;
  std::nth_element(seconds.begin(), median, seconds.end());
  return *median / repetitions;
}

absl::StatusOr<double> TimeOneRun(CudaStream& stream, char* memory, const Run& run) {
  // Loads the plan's code, outside of the capture.
  RETURN_IF_ERROR(Enqueue(stream, memory, run));
  RETURN_IF_ERROR(stream.Synchronize());
  return TimePlan(stream, memory, run, 1, 1);
}

// Fills memory with halves of words that are numbers in bf16, and words that are numbers in f32 and f64, of both signs
// and magnitudes between 2^-63 and 2. Multiplying zeros takes less power than multiplying these, so a GPU would run at
// a higher clock than in a step.
absl::Status FillRandomly(CudaDevice& device, Stream& stream, char* memory, int64_t bytes) {
  const int64_t pattern = std::min(bytes, kRandomBytes);
  ASSIGN_OR_RETURN(const std::unique_ptr<Arena> host, device.AllocateHost(pattern));
  std::mt19937 random;
  auto* const to = static_cast<char*>(host->data());
  for (int64_t i = 0; i < pattern; i += 2) {
    const auto bits = static_cast<uint16_t>(0x3C00 | (random() & 0x83FF));
    std::memcpy(to + i, &bits, static_cast<size_t>(std::min<int64_t>(2, pattern - i)));
  }
  RETURN_IF_ERROR(stream.Copy(memory, to, pattern));
  for (int64_t filled = pattern; filled < bytes; filled *= 2) {
    RETURN_IF_ERROR(stream.Copy(memory + filled, memory, std::min(filled, bytes - filled)));
  }
  return stream.Synchronize();
}

// Memory for the largest of the plans that the device has room for.
absl::StatusOr<std::unique_ptr<Arena>> AllocateFor(CudaDevice& device, const std::vector<PlanToTime>& plans) {
  std::set<int64_t, std::greater<>> sizes;
  for (const PlanToTime& plan : plans) sizes.insert(plan.bytes);
  absl::StatusOr<std::unique_ptr<Arena>> memory = nullptr;
  for (const int64_t bytes : sizes) {
    memory = device.Allocate(bytes);
    if (!absl::IsResourceExhausted(memory.status())) return memory;
  }
  return memory;
}

using Times = std::vector<absl::StatusOr<double>>;

absl::StatusOr<Times> TimePlans(CudaDevice& device, const std::vector<PlanToTime>& plans) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Arena> arena, AllocateFor(device, plans));
  ASSIGN_OR_RETURN(const std::unique_ptr<Stream> timing, device.CreateStream("timing"));
  auto& stream = static_cast<CudaStream&>(*timing);
  auto* const memory = static_cast<char*>(arena->data());
  RETURN_IF_ERROR(FillRandomly(device, stream, memory, arena->bytes()));
  Times times;
  double least = std::numeric_limits<double>::infinity();
  for (const PlanToTime& plan : plans) {
    times.push_back(plan.bytes <= arena->bytes() ? TimeOneRun(stream, memory, plan.run)
                                                 : Unavailable("the GPU has no {} bytes for it", plan.bytes));
    if (times.back().ok()) least = std::min(least, *times.back());
  }
  for (size_t i = 0; i < plans.size(); ++i) {
    if (!times[i].ok() || *times[i] > kHopeless * least) continue;
    times[i] = TimePlan(stream, memory, plans[i].run, kRepetitions, kReplays);
  }
  return times;
}

}  // namespace

PlanLoader MakePlanLoader(CudaDevice& device) {
  return [&device](const PlanToTime& plan) -> absl::Status {
    const absl::StatusOr<std::unique_ptr<Arena>> arena = device.Allocate(plan.bytes);
    if (absl::IsResourceExhausted(arena.status())) return absl::OkStatus();
    RETURN_IF_ERROR(arena.status());
    ASSIGN_OR_RETURN(const std::unique_ptr<Stream> stream, device.CreateStream("loading"));
    RETURN_IF_ERROR(Enqueue(static_cast<CudaStream&>(*stream), static_cast<char*>((*arena)->data()), plan.run));
    return stream->Synchronize();
  };
}

PlanTimer MakePlanTimer(CudaDevice& device) {
  return [&device](const std::vector<PlanToTime>& plans) {
    absl::StatusOr<Times> times = TimePlans(device, plans);
    return times.ok() ? *std::move(times) : Times(plans.size(), times.status());
  };
}

}  // namespace partita
