// Partitions a forward graph: every value gets a layout on one of the strategy's meshes, and moves stand where a
// producer's layout is not what a consumer needs (docs/derivation.md 1).
//
//   before   %z = matmul(%x, %w) f32[64,10]
//   after    %x {data:S0 model:R}   %w {data:R model:S1}   %z = matmul(%x, %w) f32[64,10] {data:S0 model:S1}
#ifndef PARTITA_GRAPH_DERIVE_PARTITION_H_
#define PARTITA_GRAPH_DERIVE_PARTITION_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "graph/derive/strategy.h"
#include "graph/ir/op_definition.h"

namespace partita {

// `states`: layouts that states must have, by name (an evaluation graph takes those of its training graph); others
// follow their first consumer. Linear in the graph. Errors name the node and what the strategy asked of it.
absl::StatusOr<Graph> Partition(const Graph& forward, const Strategy& strategy, const OpRegistry& registry,
                                const std::map<std::string, Layout>& states = {});

// What a strategy says about a node. A node that a pass made ("bn@statistics") is meant by the name before the '@'. An
// entry that names the node exactly must be possible; a pattern speaks only of splits that the op has. The first entry
// that speaks of the node decides its mesh; of further ones only what they say of axes of that mesh counts.
NodeConfig ConfigOf(const Strategy& strategy, const StrategyIndex& index, const std::string& name,
                    const std::vector<Rule>& rules);

}  // namespace partita

#endif  // PARTITA_GRAPH_DERIVE_PARTITION_H_
