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

// What each layer costs on one rank of a group, and what passes between two of them. It refers to the layers.
class WholeLayers {
 public:
  // Over a GroupMesh. kInvalidArgument: a layer cannot be whole on a rank; it is named.
  static absl::StatusOr<WholeLayers> Of(LayerCosts& costs);

  const LayerGraph& layers() const { return *layers_; }
  const LayerCost& CostOf(int layer) const { return costs_[layer]; }
  const AlphaBeta& link() const { return link_; }  // among the ranks of a group
  double launch_seconds() const { return launch_seconds_; }

  // Of a replica's part of the value.
  double BytesOf(const LayerEdge& edge) const;

 private:
  void AddShared(LayerCosts& costs, ValueId parameter);

  const LayerGraph* layers_ = nullptr;
  Mesh mesh_;
  std::vector<LayerCost> costs_;
  AlphaBeta link_;
  double launch_seconds_ = 0;
};

// kBoth: forward and then backward, each layer's two parts together. kJoined: each layer's two parts as one op.
enum class StepPart : uint8_t { kForward, kBackward, kBoth, kJoined };

struct PlacementTable {
  PlacementGraph graph;  // ops are the layers in their order, backward in the reverse
  std::vector<int> layer_of_op;
  int forward_ops = 0;  // for kBoth, the number of forward ops at its beginning
};

// Without inputs: they take no time, and lie where they are read first.
PlacementTable PlacementTableOf(const WholeLayers& whole, StepPart part);

// The device of each layer, by those of the ops.
std::vector<int> DevicesOfLayers(const LayerGraph& layers, const PlacementTable& table,
                                 const std::vector<int>& devices);

// The layers as a chain, in their order; between two of them passes what any layer before reads of any behind.
std::vector<PipelineLayer> PipelineTable(const WholeLayers& whole);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_TABLES_STAGE_TABLES_H_
