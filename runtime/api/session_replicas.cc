// Whether replicas are what they are called: ranks that hold the same part of a state hold the same bits of it. They
// tell each other a hash of each part, so that little travels; a bit that flips in a memory shows.
#include <xxhash.h>

#include <algorithm>
#include <map>
#include <utility>

#include "graph/schedule/localize.h"
#include "runtime/api/job/job.h"
#include "runtime/api/job/packed_values.h"
#include "runtime/api/session.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

using Hash = uint64_t;
using Ranks = std::vector<int>;

// Which part it is: offsets, then sizes.
using Part = std::vector<int64_t>;

Part PartOfBox(const Box& box) {
  Part part(box.offset.begin(), box.offset.end());
  part.insert(part.end(), box.size.begin(), box.size.end());
  return part;
}

// Ranks by what they hold of one part.
using Holders = std::map<Hash, Ranks>;

// Those that hold other bits than most; where as many hold each, than the first of them.
std::optional<ReplicaDivergence> FindDivergence(const std::string& state, const Holders& holders) {
  if (holders.size() < 2) return std::nullopt;
  const auto before = [](const Holders::value_type& a, const Holders::value_type& b) {
    return a.second.size() != b.second.size() ? a.second.size() > b.second.size() : a.second.front() < b.second.front();
  };
  const auto most = std::ranges::min_element(holders, before);
  ReplicaDivergence divergence{state, {}, most->second};
  for (auto other = holders.begin(); other != holders.end(); ++other) {
    if (other != most) divergence.ranks.insert(divergence.ranks.end(), other->second.begin(), other->second.end());
  }
  std::ranges::sort(divergence.ranks);
  return divergence;
}

}  // namespace

absl::StatusOr<ReplicaCheck> Session::CheckReplicas() const {
  RETURN_IF_ERROR(CheckIdle("compare replicas"));
  const std::vector<std::string> states = StateNames();
  PackedValues own;
  for (const int rank : local_ranks_) {
    own.Add(int64_t{rank});
    for (const std::string& state : states) {
      ASSIGN_OR_RETURN(const HeldTensor part, StatePart(state, rank));
      own.Add<Hash>(XXH3_64bits(part.data, static_cast<size_t>(part.tensor.bytes())));
    }
  }
  const auto rank_bytes = static_cast<int64_t>(sizeof(int64_t) + states.size() * sizeof(Hash));
  constexpr MessageKind kKind = MessageKind::kReplicaHashes;
  ReplicaCheck check;
  const int64_t before = options_.job == nullptr ? 0 : options_.job->gathered_bytes();
  ASSIGN_OR_RETURN(const std::vector<std::string> all, AllGather({kKind, own.bytes()}));
  check.counted_bytes = (options_.job == nullptr ? 0 : options_.job->gathered_bytes()) - before;
  const auto others = static_cast<int64_t>(all.size()) - 1;
  const auto far_ranks = static_cast<int64_t>(ranks_.size() - local_ranks_.size());
  check.predicted_bytes = others * Job::kGatherHeaderBytes + far_ranks * rank_bytes;
  std::vector<std::map<Part, Holders>> parts(states.size());  // by state
  for (size_t process = 0; process < all.size(); ++process) {
    PackedReader values(kKind, process, all[process]);
    const Graph& graph = program_.state_graph();
    while (!values.AtEnd()) {
      const auto rank = static_cast<int>(values.NextBelow(ranks()));
      for (size_t s = 0; s < states.size(); ++s) {
        const Box box = LocalTensorOf(graph, graph.Find(states[s]), rank).box;
        parts[s][PartOfBox(box)][values.Next<Hash>()].push_back(rank);
      }
    }
    RETURN_IF_ERROR(values.Finish());
  }
  for (size_t s = 0; s < states.size() && !check.first; ++s) {
    for (const auto& [box, holders] : parts[s]) {
      if (!check.first) check.first = FindDivergence(states[s], holders);
    }
  }
  return check;
}

}  // namespace partita
