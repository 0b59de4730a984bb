#include "partitioner/papers/group_hybrid_cost.h"

namespace partita {
namespace {

constexpr double kElementBytes = 4;

}  // namespace

GroupHybridCost CostOfGroups(const std::vector<Layer>& layers, int groups, int members, int64_t batch,
                             const AlphaBeta& link) {
  const double samples = static_cast<double>(batch) / groups;
  const auto move = [&](Collective collective, double elements, int ranks) {
    return CollectiveSeconds(collective, CollectiveForm::kRecursive, elements * kElementBytes, ranks, link);
  };
  GroupHybridCost cost;
  bool gathered = false;
  for (const Layer& layer : layers) {
    const auto weights = static_cast<double>(layer.weights + layer.biases);
    if (layer.kind != LayerKind::kDense) {
      cost.convolutions += move(Collective::kAllReduce, weights, groups * members);
      cost.weight_bytes += kElementBytes * weights;
      continue;
    }
    const auto inputs = static_cast<double>(layer.input.elements());
    if (!gathered) cost.activations += move(Collective::kAllGather, samples * inputs, members);
    gathered = true;
    cost.dense += move(Collective::kAllReduce, weights / members, groups);
    cost.activations += move(Collective::kAllGather, samples * static_cast<double>(layer.output.elements()), members) +
                        move(Collective::kAllReduce, samples * inputs, members);
    cost.weight_bytes += kElementBytes * weights / members;
  }
  return cost;
}

}  // namespace partita
