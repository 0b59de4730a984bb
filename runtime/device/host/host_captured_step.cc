#include "runtime/device/host/host_captured_step.h"

#include <algorithm>
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

bool IsTask(const HostNode& node) { return node.kind != HostNode::Kind::kRecord && node.kind != HostNode::Kind::kWait; }

}  // namespace

HostCapturedStep::HostCapturedStep(std::function<void(const absl::Status&)> on_failure)
    : id_(NextCaptureId()), on_failure_(std::move(on_failure)) {}

HostCapturedStep::~HostCapturedStep() { Wait().IgnoreError(); }

absl::Status HostCapturedStep::Finish() {
  for (const Part& part : parts_) part.stream->capture_ = nullptr;
  return MarkTags();
}

absl::Status HostCapturedStep::MarkTags() {
  struct Use {
    HostNode* last = nullptr;
    const Part* part = nullptr;
  };
  std::vector<Use> uses;
  for (Part& part : parts_) {
    for (HostNode& node : part.nodes) {
      if (!IsTask(node) || node.tag < 0) continue;
      if (node.tag >= static_cast<int64_t>(uses.size())) uses.resize(static_cast<size_t>(node.tag) + 1);
      Use& use = uses[node.tag];
      if (use.part != nullptr && use.part != &part) {
        return InvalidArgument("capture: tag {} is used on stream '{}' and on stream '{}'; a launch has one stream",
                               node.tag, use.part->stream->name(), part.stream->name());
      }
      node.begins_tag = use.last == nullptr;
      use = {&node, &part};
    }
  }
  for (const Use& use : uses) {
    if (use.last != nullptr) use.last->ends_tag = true;
  }
  tags_ = static_cast<int32_t>(uses.size());
  return absl::OkStatus();
}

absl::Status HostCapturedStep::Launch() {
  for (const Part& part : parts_) {
    if (part.stream->capturing()) {
      return absl::FailedPreconditionError(fmt::format("launch: stream '{}' is being captured", part.stream->name()));
    }
  }
  {
    std::lock_guard lock(mutex_);
    if (launched_) return absl::FailedPreconditionError("launch: the replay before was not waited for");
    launched_ = true;
    error_ = absl::OkStatus();
    running_ = static_cast<int>(std::ranges::count_if(parts_, [](const Part& part) { return !part.nodes.empty(); }));
  }
  failed_.store(false, std::memory_order_relaxed);
  ++replay_;
  if (recorder_ != nullptr) recorder_->Start(ReadCycles());
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (parts_[i].nodes.empty()) continue;
    HostStream::Item item;
    item.step = this;
    item.part = static_cast<int>(i);
    parts_[i].stream->Push(std::move(item));
  }
  return absl::OkStatus();
}

absl::Status HostCapturedStep::Wait() {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [this] { return running_ == 0; });
  launched_ = false;
  return std::exchange(error_, absl::OkStatus());
}

void HostCapturedStep::SetRecording(SpanRecorder* recorder) {
  recorder_ = recorder;
  if (recorder == nullptr) return;
  recorder->Prepare(tags_);
  SecondsPerCycle();  // calibrates now, not when the first span is read
}

void HostCapturedStep::Run(int index) {
  const Part& part = parts_[index];
  const bool delayed = part.stream->delay_.enabled();
  if (recorder_ != nullptr) {
    delayed ? Walk<true, true>(part) : Walk<true, false>(part);
  } else {
    delayed ? Walk<false, true>(part) : Walk<false, false>(part);
  }
  // Notified under the lock: the one who waits may destroy the step as soon as he has it.
  std::lock_guard lock(mutex_);
  if (--running_ == 0) ended_.notify_all();
}

template <bool kRecording, bool kDelayed>
void HostCapturedStep::Walk(const Part& part) {
  const auto replay = static_cast<uint32_t>(replay_);
  SpanRecorder* const recorder = recorder_;
  uint64_t now = 0;  // when the task before ended, if nothing came between: one stamp then serves two spans
  for (const HostNode& node : part.nodes) {
    if (node.kind == HostNode::Kind::kRecord) {
      now = 0;
      node.signal->Raise(replay);
      continue;
    }
    if (node.kind == HostNode::Kind::kWait) {
      now = 0;
      node.signal->Await(replay);
      continue;
    }
    if (failed_.load(std::memory_order_relaxed)) [[unlikely]]
      continue;
    if constexpr (kDelayed) {
      SleepBefore(part.stream->delay_, static_cast<uint64_t>(&node - part.nodes.data()), replay_);
      now = 0;
    }
    if constexpr (kRecording) {
      if (node.begins_tag) recorder->Begin(node.tag, now != 0 ? now : ReadCycles());
    }
    absl::Status status = RunHostTask(node);
    if constexpr (kRecording) {
      now = node.ends_tag ? ReadCycles() : 0;
      if (node.ends_tag) recorder->End(node.tag, now);
    }
    if (!status.ok()) [[unlikely]]
      Fail(std::move(status));
  }
}

void HostCapturedStep::Fail(absl::Status status) {
  {
    std::lock_guard lock(mutex_);
    if (!error_.ok()) return;
    error_ = status;
    failed_.store(true, std::memory_order_relaxed);
  }
  if (on_failure_) on_failure_(status);
}

}  // namespace partita
