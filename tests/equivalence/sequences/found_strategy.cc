#include "tests/equivalence/sequences/found_strategy.h"

#include "graph/proto_io/proto_io.h"
#include "ops/registry.h"
#include "partitioner/choose/candidates.h"
#include "partitioner/search/elimination/cost_tables.h"
#include "runtime/base/status.h"
#include "tests/partitioner/hosts.h"

namespace partita {

absl::StatusOr<Strategy> FoundStrategy(const Graph& forward, SearchKind search, int ranks) {
  ASSIGN_OR_RETURN(const LayerGraph layers, FindLayers(forward, Ops()));
  const Cluster cluster = FourWithFastLinks();
  const KernelTimes times;
  const CostBasis basis{Ops(), cluster, times, 3};
  Searcher searcher(forward, layers, ranks, basis);
  ASSIGN_OR_RETURN(const std::vector<Candidate> candidates, searcher.CandidatesOf(search, kNever));
  if (candidates.empty()) return Internal("the search '{}' has no candidate", Name(search));
  const Candidate& taken = search == SearchKind::kGrid ? candidates.front() : candidates.back();
  return ParseStrategy(PrintStrategy(taken.strategy, ProtoFormat::kText), ProtoFormat::kText, "found");
}

}  // namespace partita
