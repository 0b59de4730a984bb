#include "runtime/train/set_walk.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
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

// What a process votes for that cannot make a batch: above every signal.
constexpr int kFault = std::numeric_limits<int>::max();

// A batch of zeros, so that the others need not wait for the one that this process cannot make.
absl::Status StageZeros(const Session& session, const std::string& entry) {
  for (const EntryInput& input : session.program().Find(entry)->inputs) {
    for (const int rank : session.local_ranks()) {
      ASSIGN_OR_RETURN(const std::vector<HeldTensor> parts, session.InputPlacements(entry, input.field, rank));
      for (const HeldTensor& part : parts) {
        if (part.data != nullptr) RETURN_IF_ERROR(FillWithZeros(std::span(&part, 1)));
      }
    }
  }
  return absl::OkStatus();
}

// Collective, where some process has met a fault: the first one, with its rank.
absl::Status FaultOfAll(const Session& session, const absl::Status& own) {
  const std::string text =
      own.ok() ? "" : fmt::format("rank {}: {}", session.local_ranks().front(), std::string(own.message()));
  ASSIGN_OR_RETURN(const std::vector<std::string> all, session.AllGather({MessageKind::kWrongData, text}));
  for (const std::string& fault : all) {
    if (!fault.empty()) return absl::Status(fault == text ? own.code() : absl::StatusCode::kInvalidArgument, fault);
  }
  return Unavailable("evaluation: a rank could not make a batch, and none says why");
}

}  // namespace

absl::StatusOr<bool> WalkSet(Session& session, const std::string& use, std::shared_ptr<const BatchSource> source,
                             const std::atomic<int>* stop, const BatchEnd& end) {
  const int64_t batches = source->batches_per_epoch();
  RETURN_IF_ERROR(BeginAnew(session, use));
  ASSIGN_OR_RETURN(const BatchFeed feed, BatchFeed::Create(session, use, source));
  ASSIGN_OR_RETURN(const std::unique_ptr<Prefetcher> prefetcher, feed.Prefetch(0, batches));
  absl::Status fault;                                         // of the batches that this process makes
  std::atomic<int> told{stop == nullptr ? 0 : stop->load()};  // what it votes for
  const auto listen = [&] { told.store(!fault.ok() ? kFault : stop == nullptr ? 0 : stop->load()); };
  ASSIGN_OR_RETURN(const StopVote vote, StopVote::Create(session, use, &told));
  const auto entry = [&](int64_t batch) -> const std::string& { return feed.EntryOf(batch); };
  const Batch* batch = nullptr;
  // With a fault the process runs steps as the others do, until all have heard of it in one.
  const auto make = [&]() -> absl::Status {
    if (!fault.ok()) return absl::OkStatus();
    const absl::StatusOr<const Batch*> next = prefetcher->Next();
    if (next.ok()) batch = *next;
    fault = next.status();
    return session.alone() ? fault : absl::OkStatus();
  };
  const auto stage = [&](const std::string& of) -> absl::Status {
    if (fault.ok()) {
      feed.Stage(*batch);
    } else {
      RETURN_IF_ERROR(StageZeros(session, of));
    }
    listen();
    vote.Cast(of);
    return absl::OkStatus();
  };
  ASSIGN_OR_RETURN(int stopped_by, VoteToStop(session, &told));
  int64_t walked = 0;
  const auto take = [&]() -> absl::StatusOr<bool> {
    RETURN_IF_ERROR(end({walked, feed.EntryOf(walked)}));
    ++walked;
    if (stopped_by != 0) return false;
    listen();
    ASSIGN_OR_RETURN(stopped_by, vote.Outcome());
    return stopped_by == 0;
  };
  RETURN_IF_ERROR(RunInTurn(session, stopped_by == 0 ? batches : 0, entry, make, stage, take));
  if (stopped_by == kFault) return FaultOfAll(session, fault);
  return walked == batches;
}

}  // namespace partita
