#include "tests/partitioner/papers/group_hybrid_cost.h"

namespace partita {
namespace {

constexpr double kElementBytes = 4;

}  // namespace

GroupHybridCost CostOfGroups(const std::vector<Layer>& layers, int groups, int members, int64_t batch,
                             const AlphaBeta& link) {
  const double samples = static_cast<double>(batch) / groups;
  const auto move = [&](CollectiveKind collective, double elements, int ranks) {
    return CollectiveSeconds(collective, CollectiveForm::kRecursive, elements * kElementBytes, ranks, link);
  };
  GroupHybridCost cost;
  bool gathered = false;
  for (const Layer& layer : layers) {
    const auto weights = static_cast<double>(layer.weights + layer.biases);
    if (layer.kind != LayerKind::kDense) {
      cost.convolutions += move(CollectiveKind::kAllReduce, weights, groups * members);
      cost.weight_bytes += kElementBytes * weights;
      continue;
    }
    const auto inputs = static_cast<double>(layer.input.elements());
    if (!gathered) cost.activations += move(CollectiveKind::kAllGather, samples * inputs, members);
    gathered = true;
    cost.dense += move(CollectiveKind::kAllReduce, weights / members, groups);
    cost.activations +=
        move(CollectiveKind::kAllGather, samples * static_cast<double>(layer.output.elements()), members) +
        move(CollectiveKind::kAllReduce, samples * inputs, members);
    cost.weight_bytes += kElementBytes * weights / members;
  }
  return cost;
}

}  // namespace partita
