#include "runtime/device/cuda/cuda_captured_step.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/device/cycle_clock.h"
#include "runtime/device/span_recorder.h"

namespace partita {
namespace {

uint64_t NextCaptureId() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1) + 1;
}

}  // namespace

CudaCapturedStep::CudaCapturedStep(CudaContext* context, std::vector<CudaStream*> streams, CudaTimeline timeline)
    : context_(context), id_(NextCaptureId()), streams_(std::move(streams)), timeline_(timeline) {}

absl::StatusOr<std::unique_ptr<CudaCapturedStep>> CudaCapturedStep::Begin(CudaContext* context,
                                                                          std::vector<CudaStream*> streams,
                                                                          CudaTimeline timeline) {
  std::unique_ptr<CudaCapturedStep> step(new CudaCapturedStep(context, std::move(streams), timeline));
  RETURN_IF_ERROR(context->Activate());
  ASSIGN_OR_RETURN(step->before_, CudaEvent::Create(context));
  ASSIGN_OR_RETURN(step->done_, CudaEvent::Create(context));
  // Relaxed: kernels are made while others are captured, and their libraries allocate.
  RETURN_IF_CUDA_ERROR(*context, cudaStreamBeginCapture, step->origin().stream_, cudaStreamCaptureModeRelaxed);
  for (CudaStream* stream : step->streams_) stream->capture_ = step.get();
  if (absl::Status status = step->Fork(); !status.ok()) {
    step->Finish().IgnoreError();
    return status;
  }
  return step;
}

absl::Status CudaCapturedStep::Fork() {
  if (by_events()) RETURN_IF_ERROR(RecordTime(start_, origin()));
  RETURN_IF_ERROR(origin().Record(*before_));
  for (CudaStream* stream : streams_) {
    if (stream != &origin()) RETURN_IF_ERROR(stream->Wait(*before_));
  }
  return absl::OkStatus();
}

absl::Status CudaCapturedStep::Join() {
  EndTag();
  RETURN_IF_ERROR(tags_failed_);
  for (CudaStream* stream : streams_) {
    RETURN_IF_ERROR(stream->Use());
    RETURN_IF_ERROR(stream->LaunchPostponed());
    if (stream == &origin()) continue;
    RETURN_IF_ERROR(stream->Record(*before_));
    RETURN_IF_ERROR(origin().Wait(*before_));
  }
  return absl::OkStatus();
}

absl::Status CudaCapturedStep::Finish() {
  const absl::Status status = Join();
  for (CudaStream* stream : streams_) {
    stream->capture_ = nullptr;
    stream->postponed_ = nullptr;
  }
  const absl::Status active = context_->Activate();
  const absl::Status ended =
      context_->Check(context_->api().cudaStreamEndCapture(origin().stream_, &graph_), "cudaStreamEndCapture");
  RETURN_IF_ERROR(status);
  RETURN_IF_ERROR(active);
  RETURN_IF_ERROR(ended);
  if (clashing_ >= 0) {
    return InvalidArgument("capture: tag {} is used on stream '{}' and on stream '{}'; a launch has one stream",
                           clashing_, tags_[clashing_].stream->name(), clashing_stream_->name());
  }
  // Without the flag every node has the priority of the stream that the step is launched on.
  RETURN_IF_CUDA_ERROR(*context_, cudaGraphInstantiate, &executable_, graph_, cudaGraphInstantiateFlagUseNodePriority);
  return absl::OkStatus();
}

CudaCapturedStep::~CudaCapturedStep() {
  recorder_ = nullptr;
  Wait().IgnoreError();
  for (CudaStream* stream : streams_) {
    if (done_ != nullptr && stream->behind_ == done_->handle()) stream->behind_ = nullptr;
  }
  if (timeline_.node_times != nullptr) timeline_.node_times->Forget(id_);
  context_->ActivateToFree();
  if (executable_ != nullptr) context_->api().cudaGraphExecDestroy(executable_);
  if (graph_ != nullptr) context_->api().cudaGraphDestroy(graph_);
}

absl::Status CudaCapturedStep::RecordTime(std::unique_ptr<CudaEvent>& event, CudaStream& stream) {
  if (event == nullptr) {
    ASSIGN_OR_RETURN(event, CudaEvent::Create(context_, /*timing=*/true));
  }
  // External: a node that records the event at each replay, not a mark of this capture.
  return context_->Check(
      context_->api().cudaEventRecordWithFlags(event->handle(), stream.stream_, cudaEventRecordExternal),
      "cudaEventRecordWithFlags");
}

absl::Status CudaCapturedStep::BeginTag(CudaStream& stream, int32_t tag) {
  if (tag != open_tag_) EndTag();
  if (tag < 0) return absl::OkStatus();
  TagSpan& span = tags_[tag];
  if (span.stream != nullptr && span.stream != &stream) {
    if (clashing_ < 0) {
      clashing_ = tag;
      clashing_stream_ = &stream;
    }
    return absl::OkStatus();
  }
  const bool first = span.stream == nullptr;
  span.stream = &stream;
  open_tag_ = tag;
  if (timeline_.node_times != nullptr) timeline_.node_times->BeginTag(id_, tag);
  return first && by_events() ? RecordTime(span.begin, stream) : absl::OkStatus();
}

void CudaCapturedStep::EndTag() {
  const int32_t tag = std::exchange(open_tag_, -1);
  if (timeline_.node_times != nullptr) timeline_.node_times->EndTag();
  if (tag < 0 || !by_events()) return;
  // A tag that comes back later records its end once more; the last one counts.
  const absl::Status recorded = RecordTime(tags_[tag].end, *tags_[tag].stream);
  if (tags_failed_.ok()) tags_failed_ = recorded;
}

absl::Status CudaCapturedStep::Launch() {
  for (CudaStream* stream : streams_) {
    if (stream->capturing()) {
      return absl::FailedPreconditionError(fmt::format("launch: stream '{}' is being captured", stream->name()));
    }
  }
  if (launched_) return absl::FailedPreconditionError("launch: the replay before was not waited for");
  RETURN_IF_ERROR(origin().Use());
  for (CudaStream* stream : streams_) {
    if (stream == &origin()) continue;
    // What was launched on the origin before comes before this launch as well.
    if (stream->behind_on_ == &origin()) stream->behind_ = nullptr;
    if (stream->used_ || stream->behind_ != nullptr) {
      RETURN_IF_ERROR(stream->Record(*before_));
      RETURN_IF_ERROR(origin().Wait(*before_));
      stream->used_ = false;
    }
    stream->behind_ = done_->handle();
    stream->behind_on_ = &origin();
  }
  if (recorder_ != nullptr && !by_events()) {
    timeline_.node_times->Expect(id_);
    ASSIGN_OR_RETURN(started_at_, timeline_.node_times->Now());
  }
  RETURN_IF_CUDA_ERROR(*context_, cudaGraphLaunch, executable_, origin().stream_);
  launched_ = true;
  for (const std::function<void()>& run : on_launch_) run();
  return origin().Record(*done_);
}

absl::Status CudaCapturedStep::Wait() {
  if (!launched_) return absl::OkStatus();
  launched_ = false;
  RETURN_IF_ERROR(done_->Synchronize());
  RETURN_IF_ERROR(context_->Activate());  // whoever gave the GPU up while the step ran says why
  return recorder_ == nullptr ? absl::OkStatus() : ReadSpans();
}

void CudaCapturedStep::SetRecording(SpanRecorder* recorder) {
  recorder_ = timeline_.wanted ? recorder : nullptr;
  if (recorder_ == nullptr) return;
  recorder_->Prepare(tags_.empty() ? 0 : tags_.rbegin()->first + 1);
  SecondsPerCycle();  // calibrates now, not when the first span is read
}

absl::Status CudaCapturedStep::ReadSpans() {
  recorder_->Start(0);
  return by_events() ? ReadEvents() : ReadNodeTimes();
}

absl::Status CudaCapturedStep::ReadEvents() {
  for (const auto& [tag, span] : tags_) {
    ASSIGN_OR_RETURN(const double begin, CudaMillisecondsBetween(*context_, *start_, *span.begin));
    ASSIGN_OR_RETURN(const double end, CudaMillisecondsBetween(*context_, *start_, *span.end));
    AddSpan(tag, begin, end);
  }
  return absl::OkStatus();
}

absl::Status CudaCapturedStep::ReadNodeTimes() {
  ASSIGN_OR_RETURN(const auto times, timeline_.node_times->Take(id_));
  const auto since_start = [this](uint64_t time) {
    return (static_cast<double>(time) - static_cast<double>(started_at_)) * 1e-6;
  };
  for (const auto& [tag, time] : times) AddSpan(tag, since_start(time.begin), since_start(time.end));
  return absl::OkStatus();
}

void CudaCapturedStep::AddSpan(int32_t tag, double begin_milliseconds, double end_milliseconds) {
  const double cycles = 1e-3 / SecondsPerCycle();  // of a millisecond
  recorder_->Begin(tag, static_cast<uint64_t>(std::max(0.0, begin_milliseconds) * cycles));
  // A recorder takes an end of 0 for a tag without work.
  recorder_->End(tag, std::max<uint64_t>(1, static_cast<uint64_t>(std::max(0.0, end_milliseconds) * cycles)));
}

}  // namespace partita
