#include "runtime/train/stop_vote.h"

#include <algorithm>

#include "runtime/api/job/packed_values.h"
#include "runtime/base/check.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr int64_t kMostStops = int64_t{1} << 31;  // the flag is an int, and what it says is the caller's

}  // namespace

absl::StatusOr<int> VoteToStop(const Session& session, const std::atomic<int>* stop) {
  if (stop == nullptr) return 0;
  PackedValues packed;
  packed.Add(int64_t{stop->load()});
  constexpr MessageKind kKind = MessageKind::kStopVotes;
  ASSIGN_OR_RETURN(const std::vector<std::string> votes, session.AllGather({kKind, packed.bytes()}));
  int64_t largest = 0;
  for (size_t process = 0; process < votes.size(); ++process) {
    PackedReader vote(kKind, process, votes[process]);
    largest = std::max(largest, vote.NextBelow(kMostStops));
    RETURN_IF_ERROR(vote.Finish());
  }
  return static_cast<int>(largest);
}

absl::StatusOr<StopVote> StopVote::Create(const Session& session, std::string_view use, const std::atomic<int>* stop) {
  RETURN_IF_ERROR(session.program().PlaceOf(use).status());
  Places cast;
  for (const EntryPoint& entry : session.program().entries) {
    if (!IsUse(entry.name, use)) continue;
    ASSIGN_OR_RETURN(cast[entry.name], session.VotePlacements(entry.name));
  }
  return StopVote(session, stop, std::move(cast));
}

// Of one of the types that steps add up.
void StopVote::Cast(std::string_view entry) const {
  const bool wants_to_stop = stop_ != nullptr && stop_->load() != 0;
  const auto places = cast_.find(entry);
  CHECK(places != cast_.end());
  for (const HeldTensor& part : places->second) {
    if (part.tensor.dtype == DType::kF64) {
      *static_cast<double*>(part.data) = wants_to_stop ? 1 : 0;
    } else {
      CHECK(part.tensor.dtype == DType::kF32);
      *static_cast<float*>(part.data) = wants_to_stop ? 1 : 0;
    }
  }
}

absl::StatusOr<int> StopVote::Outcome() const {
  if (stop_ == nullptr || session_->votes() == 0.0) return 0;
  return session_->alone() ? stop_->load() : VoteToStop(*session_, stop_);
}

}  // namespace partita
