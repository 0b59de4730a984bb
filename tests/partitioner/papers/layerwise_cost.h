// The cost of a configuration of each layer: Z. Jia et al. (docs/papers.md 14.1). Sums of the tables that a layer-wise
// search minimises.
#ifndef PARTITA_TESTS_PARTITIONER_PAPERS_LAYERWISE_COST_H_
#define PARTITA_TESTS_PARTITIONER_PAPERS_LAYERWISE_COST_H_

#include <cstdint>
#include <vector>

#include "tests/partitioner/papers/layers.h"

namespace partita {

// Into how many equal parts a layer's output is cut; device i computes part i in row-major order.
struct LayerDegrees {
  int samples = 1, channels = 1, height = 1, width = 1;

  int parts() const { return samples * channels * height * width; }
  int replicas() const { return samples * height * width; }  // of each shard of the weights
  bool operator==(const LayerDegrees&) const = default;
};

struct LayerwiseMachine {
  double flops_per_second = 0;  // of a device
  double bytes_per_second = 0;  // of a link
};

// t_C: forward and backward of one part, three times the forward's multiply-adds.
double ComputeSeconds(const Layer& layer, const LayerDegrees& degrees, int64_t batch, const LayerwiseMachine& machine);

// t_S: a ring over the replicas of each shard of the gradients, biases with them.
double SyncSeconds(const Layer& layer, const LayerDegrees& degrees, const LayerwiseMachine& machine);
double SyncBytes(const Layer& layer, const LayerDegrees& degrees);  // on the wire, of all shards

// What the parts of `layer` need of the output of the layer before, and have not computed themselves: forward and back.
struct LayerTransfer {
  double most_bytes = 0;  // of one part
  double all_bytes = 0;
};
LayerTransfer TransferOf(const Layer& before, const LayerDegrees& before_degrees, const Layer& layer,
                         const LayerDegrees& degrees, int64_t batch);

// t_O of a chain, one configuration for each layer.
struct LayerwiseCost {
  double compute = 0, sync = 0, transfer = 0;  // seconds
  double wire_bytes = 0;

  double seconds() const { return compute + sync + transfer; }
};
LayerwiseCost CostOfChain(const std::vector<Layer>& layers, const std::vector<LayerDegrees>& degrees, int64_t batch,
                          const LayerwiseMachine& machine);

}  // namespace partita

#endif  // PARTITA_TESTS_PARTITIONER_PAPERS_LAYERWISE_COST_H_
