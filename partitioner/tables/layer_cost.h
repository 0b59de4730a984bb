// The cost of a layer under a choice: the compiler compiles the layer alone, forward and backward, and the cost is that
// of one rank's share, with an optimizer's pass over its weights.
#ifndef PARTITA_PARTITIONER_TABLES_LAYER_COST_H_
#define PARTITA_PARTITIONER_TABLES_LAYER_COST_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/op_definition.h"
#include "graph/value/layout.h"
#include "partitioner/cluster/cluster.h"
#include "partitioner/cost/compute_cost.h"
#include "partitioner/tables/choice.h"
#include "partitioner/tables/layers.h"
#include "partitioner/tables/move_seconds.h"

namespace partita {

// The inputs of cost estimates. All of them must outlive the receiver.
struct CostBasis {
  const OpRegistry& registry;
  const Cluster& cluster;
  const KernelTimes& times;
  // Of a parameter: itself, its gradient, and what the optimizer keeps beside it.
  double copies_of_weights = 2;
};

struct LayerCost {
  double forward = 0, backward = 0;  // seconds of rank 0's share, moves inside the layer (halos, statistics) included
  double synchronization = 0;        // seconds that the gradients' bytes add to their sums, which are a few large ones
  double update = 0;                 // seconds of the optimizer's pass over its weights
  int forward_launches = 0, backward_launches = 0;
  double weight_bytes = 0;      // on a device, with all copies
  double activation_bytes = 0;  // that the layer makes forward, on a device
  std::vector<Layout> reads;    // how what it reads must lie, without ghosts
  std::vector<Layout> makes;    // how what it makes lies
};

// Of a parameter that several layers read: what one of its own costs its layer.
struct SharedCost {
  double synchronization = 0;
  double update = 0;
  double weight_bytes = 0;
};

// Of the layers on one mesh. A layer is compiled once for each choice, and all that are alike with it: tables that are
// made of the same costs share that work, which is most of theirs. Layers and basis must outlive it. Thread-compatible.
class LayerCosts {
 public:
  LayerCosts(const LayerGraph& layers, Mesh mesh, const CostBasis& basis);
  LayerCosts(const LayerCosts&) = delete;
  LayerCosts& operator=(const LayerCosts&) = delete;

  // kInvalidArgument: the layer cannot have this layout. The objects it refers to must outlive it.
  const absl::StatusOr<LayerCost>& Of(const OpLayer& layer, const Choice& choice);

  // `sums`: axes (bit a: axis a) over which the gradient is a sum.
  SharedCost OfShared(ValueId parameter, const Layout& layout, uint32_t sums);

  const LayerGraph& layers() const { return layers_; }
  const Mesh& mesh() const { return mesh_; }
  const CostBasis& basis() const { return basis_; }
  MoveSeconds& moves() { return moves_; }

  int compiled() const { return static_cast<int>(known_.size()); }

 private:
  std::string SignatureOf(const OpLayer& layer) const;

  const LayerGraph& layers_;
  const Mesh mesh_;
  const CostBasis& basis_;
  MoveSeconds moves_;
  std::map<NodeId, int> signature_of_;  // which of those that differ; by a layer's first node
  std::map<std::pair<int, Choice>, absl::StatusOr<LayerCost>> known_;
};

}  // namespace partita

#endif  // PARTITA_PARTITIONER_TABLES_LAYER_COST_H_
