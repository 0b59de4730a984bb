#include "tests/equivalence/sequences/found_strategy.h"

#include "graph/proto_io/proto_io.h"
#include "ops/registry.h"
#include "partitioner/choose/candidates.h"
#include "partitioner/search/elimination/cost_tables.h"
#include "runtime/base/status.h"
#include "tests/partitioner/hosts.h"

namespace partita {

absl::StatusOr<Strategy> FoundStrategy(const Graph& forward, SearchKind search) {
  ASSIGN_OR_RETURN(const LayerGraph layers, FindLayers(forward, Ops()));
  const Cluster cluster = FourWithFastLinks();
  const KernelTimes times;
  const CostBasis basis{Ops(), cluster, times, 3};
  Searcher searcher(forward, layers, 2, basis);
  ASSIGN_OR_RETURN(const std::vector<Candidate> candidates, searcher.CandidatesOf(search, kNever));
  if (candidates.empty()) return Internal("the search '{}' has no candidate", Name(search));
  return ParseStrategy(PrintStrategy(candidates.back().strategy, ProtoFormat::kText), ProtoFormat::kText, "found");
}

}  // namespace partita
