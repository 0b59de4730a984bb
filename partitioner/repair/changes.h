// Ways in which a strategy can need less memory: each gives it anew with one thing changed.
#ifndef PARTITA_PARTITIONER_REPAIR_CHANGES_H_
#define PARTITA_PARTITIONER_REPAIR_CHANGES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/derive/strategy.h"
#include "graph/ir/graph.h"
#include "graph/ir/program.h"

namespace partita {

// Numbers of micro-batches above the strategy's, each at least twice the one before, that divide the batch: parts of
// the batch follow each other, and what is kept from forward to backward is that of a part.
std::vector<int64_t> MoreMicroBatches(const Graph& forward, const Strategy& strategy);

// The same strategy with this number of them.
Strategy WithMicroBatches(const Strategy& strategy, int64_t micro_batches);

// The same strategy with every parameter that has a gradient updated in parts over all axes on which it is whole, by
// its largest dimension: what the optimizer keeps lies there in parts (docs/derivation.md 4.5). `program`: what is made
// of the strategy. nullopt: no parameter is whole on several ranks, or all updates are in parts already.
std::optional<Strategy> WithUpdatesInParts(const Program& program, const Strategy& strategy);

// This number of replicas with this number of ranks each; for a strategy, the ranks of its axis `model`, if it has one.
struct ReplicaSizes {
  int data = 1, model = 1;
};
// Sizes that at least double from one to the next: ranks of a replica, on the strategy's ranks and with as many
// replicas on up to `most_ranks`, the last with all of these; replicas on up to `most_ranks`.
std::vector<ReplicaSizes> LargerReplicas(const Strategy& strategy);
std::vector<ReplicaSizes> LargerReplicas(const Strategy& strategy, int most_ranks);
std::vector<ReplicaSizes> MoreReplicas(const Strategy& strategy, int most_ranks);

// The strategy of these sizes (partitioner/data_model_strategy.h), with the options of the old one. Errors are those of
// DataModelStrategy.
absl::StatusOr<Strategy> WithReplicas(const Graph& forward, const Strategy& strategy, const ReplicaSizes& sizes);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_REPAIR_CHANGES_H_
