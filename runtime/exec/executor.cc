#include "runtime/exec/executor.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/status.h"
#include "runtime/exec/rank_walk.h"

namespace partita {

Executor::Executor(Device* device, bool replay) : device_(device), replay_(replay) {}

Executor::~Executor() {
  if (replay_) return;
  for (Stream* stream : streams_) stream->Synchronize().IgnoreError();
}

absl::StatusOr<std::unique_ptr<Executor>> Executor::Create(const Schedule& schedule, ExecutorBinding binding,
                                                           ExecutorOptions options) {
  return CreateTogether({{&schedule, std::move(binding), std::move(options)}});
}

absl::StatusOr<std::unique_ptr<Executor>> Executor::CreateTogether(const std::vector<ExecutorRank>& ranks) {
  CHECK(!ranks.empty());
  std::unique_ptr<Executor> executor(new Executor(ranks[0].binding.device, ranks[0].options.replay));
  int32_t tags = 0;
  for (const ExecutorRank& rank : ranks) {
    CHECK(rank.binding.device == executor->device_ && rank.options.replay == executor->replay_);
    ASSIGN_OR_RETURN(std::unique_ptr<RankWalk> walk, RankWalk::Create(rank, tags));
    executor->streams_.insert(executor->streams_.end(), walk->streams().begin(), walk->streams().end());
    executor->first_tags_.push_back(tags);
    tags += walk->launches();
    executor->walks_.push_back(std::move(walk));
    CHECK(executor->walks_.back()->turns() == executor->turns());
  }
  executor->started_.reserve(static_cast<size_t>(executor->turns()));
  executor->first_tags_.push_back(tags);
  for (int turn = 0; executor->replay_ && turn < executor->turns(); ++turn) {
    RETURN_IF_ERROR(executor->Capture(turn));
  }
  return executor;
}

int Executor::turns() const { return walks_[0]->turns(); }

absl::Status Executor::Capture(int turn) {
  RETURN_IF_ERROR(device_->BeginCapture(streams_));
  const absl::Status walked = Walk(turn);
  auto step = device_->EndCapture();
  RETURN_IF_ERROR(walked);
  if (!step.ok()) return step.status();
  steps_.push_back(*std::move(step));
  return absl::OkStatus();
}

absl::Status Executor::Walk(int turn) {
  for (const auto& walk : walks_) RETURN_IF_ERROR(walk->Begin(turn));
  while (true) {
    for (const auto& walk : walks_) {
      while (!walk->done() && walk->NextGroup() < 0) RETURN_IF_ERROR(walk->Advance());
    }
    if (std::ranges::all_of(walks_, [](const auto& walk) { return walk->done(); })) break;
    RETURN_IF_ERROR(WalkOneCollective());
  }
  for (const auto& walk : walks_) RETURN_IF_ERROR(walk->End(turn));
  return absl::OkStatus();
}

// Enqueues a collective for every rank of the device that is a member, and only then what comes behind it: on a device
// that ranks share, a member's stream takes no work until the last member has called.
absl::Status Executor::WalkOneCollective() {
  for (const auto& walk : walks_) {
    const int group = walk->NextGroup();
    const auto is_there = [group](const auto& other) {
      return !other->groups().contains(group) || other->NextGroup() == group;
    };
    if (group < 0 || !std::ranges::all_of(walks_, is_there)) continue;
    std::vector<RankWalk*> members;
    for (const auto& member : walks_) {
      if (member->NextGroup() == group) members.push_back(member.get());
    }
    for (RankWalk* member : members) RETURN_IF_ERROR(member->Advance());
    for (RankWalk* member : members) RETURN_IF_ERROR(member->FinishCollective());
    return absl::OkStatus();
  }
  return Internal("the ranks of device '{}' wait for each other in different collectives", device_->name());
}

absl::Status Executor::Start(int turn) {
  CHECK(turn >= 0 && turn < turns());
  if (std::ranges::find(started_, turn) != started_.end()) {
    return absl::FailedPreconditionError("start: the step before was not waited for");
  }
  started_.push_back(turn);
  for (const auto& walk : walks_) walk->RunAtStart();
  return replay_ ? steps_[turn]->Launch() : Walk(turn);
}

absl::Status Executor::Wait() {
  if (started_.empty()) return absl::OkStatus();
  const int turn = started_.front();
  started_.erase(started_.begin());
  absl::Status status = replay_ ? steps_[turn]->Wait() : WaitForStreams();
  wrong_data_ = false;
  for (size_t w = 0; w < walks_.size() && status.ok(); ++w) {
    status = walks_[w]->FirstFault(turn);
    wrong_data_ = !status.ok();
  }
  return status;
}

absl::Status Executor::ClearWords() {
  for (const auto& walk : walks_) RETURN_IF_ERROR(walk->ClearWords());
  return absl::OkStatus();
}

absl::Status Executor::WaitForStreams() {
  absl::Status status;
  for (Stream* stream : streams_) {
    const absl::Status ended = stream->Synchronize();
    if (status.ok()) status = ended;
  }
  return status;
}

void Executor::SetRecording(bool on) {
  recording_ = on && replay_;
  for (const auto& step : steps_) step->SetRecording(on ? &recorder_ : nullptr);
}

std::vector<Span> Executor::Spans(int rank) const {
  if (!recording_) return {};
  std::vector<Span> all = recorder_.Spans();
  all.resize(static_cast<size_t>(first_tags_.back()));
  return {all.begin() + first_tags_[rank], all.begin() + first_tags_[rank + 1]};
}

const void* Executor::Observed(ValueId value, int rank) const { return walks_[rank]->Observed(value); }

ValueId Executor::FirstNonFinite() const {
  ValueId first = kNoValue;
  for (const auto& walk : walks_) {
    const ValueId value = walk->FirstNonFinite();
    if (value != kNoValue && (first == kNoValue || value < first)) first = value;
  }
  return first;
}

}  // namespace partita
