// ParaDL's six strategies as plans that compile and run (docs/papers.md 14.3).
#ifndef PARTITA_TESTS_PARTITIONER_PAPERS_TABLES_SIX_PLANS_H_
#define PARTITA_TESTS_PARTITIONER_PAPERS_TABLES_SIX_PLANS_H_

#include "absl/status/statusor.h"
#include "graph/derive/strategy.h"
#include "graph/ir/graph.h"
#include "partitioner/cluster/cluster.h"
#include "tests/partitioner/papers/six_strategies.h"

namespace partita {

//   data            samples over all devices
//   spatial         rows of images; dense layers by samples
//   filter          output channels of every layer
//   channel         input channels, but of the first layer, whose images have few: its output channels
//   pipeline        a stage for each device, cut so that the longest is as short as can be on that cluster
//   data + ...      replicas of devices that share rows, or output channels
//
// Of a forward graph with a batch for all devices. kInvalidArgument: it cannot be cut so.
absl::StatusOr<Strategy> PlanOf(ParallelForm form, const Graph& forward, const EpochOptions& options,
                                const Cluster& cluster);

}  // namespace partita

#endif  // PARTITA_TESTS_PARTITIONER_PAPERS_TABLES_SIX_PLANS_H_
