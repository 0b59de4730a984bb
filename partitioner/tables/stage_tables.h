// The tables of a model for searches that put whole layers on ranks of a worker group: placement (Pal et al.) and
// pipelines (BaPipe). The group's ranks are `model` of a mesh `data:N model:M`; samples lie over `data`.
#ifndef PARTITA_PARTITIONER_TABLES_STAGE_TABLES_H_
#define PARTITA_PARTITIONER_TABLES_STAGE_TABLES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "partitioner/search/pipeline_search.h"
#include "partitioner/search/placement/placement_graph.h"
#include "partitioner/tables/layer_cost.h"
#include "partitioner/tables/layers.h"

namespace partita {

// kBoth: forward and then backward, each layer's two parts together. kJoined: each layer's two parts as one op.
enum class StepPart : uint8_t { kForward, kBackward, kBoth, kJoined };

struct PlacementTable {
  PlacementGraph graph;  // ops are the layers in their order, backward in the reverse
  std::vector<int> layer_of_op;
};

// Without inputs: they take no time, and lie where they are read first.
absl::StatusOr<PlacementTable> PlacementTables(const LayerGraph& layers, int data, int model, StepPart part,
                                               const CostBasis& basis);

// The device of each layer, by those of the ops.
std::vector<int> DevicesOfLayers(const LayerGraph& layers, const PlacementTable& table,
                                 const std::vector<int>& devices);

// The layers as a chain, in their order; between two of them passes what any layer before reads of any behind.
absl::StatusOr<std::vector<PipelineLayer>> PipelineTables(const LayerGraph& layers, int data, int model,
                                                          const CostBasis& basis);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_TABLES_STAGE_TABLES_H_
