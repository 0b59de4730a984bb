#include "runtime/train/set_walk.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "runtime/base/status.h"
#include "runtime/train/batch_feed.h"
#include "runtime/train/run_in_turn.h"
#include "runtime/train/stop_vote.h"

namespace partita {
namespace {

absl::Status FillWithZeros(std::span<const HeldTensor> parts) {
  for (const HeldTensor& part : parts) std::memset(part.data, 0, static_cast<size_t>(part.tensor.bytes()));
  return absl::OkStatus();
}

// No batch comes before a set's first one.
absl::Status BeginAnew(Session& session, const std::string& entry) {
  const Graph& graph = session.graph(entry);
  for (const State& state : graph.states()) {
    if (state.update == kNoValue) continue;
    RETURN_IF_ERROR(session.FillState(graph.value(state.value).name, FillWithZeros));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<bool> WalkSet(Session& session, const std::string& use, std::shared_ptr<const BatchSource> source,
                             const std::atomic<int>* stop, const BatchEnd& end) {
  const int64_t batches = source->batches_per_epoch();
  RETURN_IF_ERROR(BeginAnew(session, use));
  ASSIGN_OR_RETURN(const BatchFeed feed, BatchFeed::Create(session, use, source));
  ASSIGN_OR_RETURN(const std::unique_ptr<Prefetcher> prefetcher, feed.Prefetch(0, batches));
  ASSIGN_OR_RETURN(const StopVote vote, StopVote::Create(session, use, stop));
  const auto entry = [&](int64_t batch) -> const std::string& { return feed.EntryOf(batch); };
  const Batch* batch = nullptr;
  const auto make = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(batch, prefetcher->Next());
    return absl::OkStatus();
  };
  const auto stage = [&](const std::string& of) -> absl::Status {
    feed.Stage(*batch);
    vote.Cast(of);
    return absl::OkStatus();
  };
  ASSIGN_OR_RETURN(int stopped_by, VoteToStop(session, stop));
  int64_t walked = 0;
  const auto take = [&]() -> absl::StatusOr<bool> {
    RETURN_IF_ERROR(end({walked, feed.EntryOf(walked)}));
    ++walked;
    if (stopped_by != 0) return false;
    ASSIGN_OR_RETURN(stopped_by, vote.Outcome());
    return stopped_by == 0;
  };
  RETURN_IF_ERROR(RunInTurn(session, stopped_by == 0 ? batches : 0, entry, make, stage, take));
  return walked == batches;
}

}  // namespace partita
