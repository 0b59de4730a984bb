#include "partitioner/tables/stage_tables.h"

#include <set>

#include "partitioner/tables/move_seconds.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr uint32_t kModelAxis = 1U << 1;

// What each layer costs on one rank of the group.
class WholeLayers {
 public:
  WholeLayers(const LayerGraph& layers, int data, int model, const CostBasis& basis)
      : layers_(layers),
        mesh_{{{"data", data}, {"model", model}}},
        costs_(layers, mesh_, basis),
        moves_(mesh_, basis.cluster) {}

  absl::Status Reckon() {
    for (const OpLayer& layer : layers_.layers) {
      const Node& lead = layers_.lead(layer);
      const Shape& shape = layers_.graph.type(lead.outputs[0]).shape;
      const bool samples = SplitName(RulesOf(layers_.graph, lead), shape, Cut::kSamples).has_value();
      absl::StatusOr<LayerCost> cost = costs_.Of(layer, {samples ? Cut::kSamples : Cut::kWhole, Cut::kFirst});
      if (!cost.ok()) return WithContext("layer '" + layer.name + "'", cost.status());
      of_.push_back(*std::move(cost));
    }
    return absl::OkStatus();
  }

  const LayerCost& Of(int layer) const { return of_[layer]; }

  AlphaBeta Link() { return moves_.LinkOver(kModelAxis); }

  double BytesOf(const LayerEdge& edge) const {
    const TensorType& type = layers_.graph.type(edge.value);
    const std::optional<Box> box = LocalBox(of_[edge.from].makes[edge.made], type.shape, mesh_, 0);
    return static_cast<double>(box->elements() * SizeOf(type.dtype));
  }

 private:
  const LayerGraph& layers_;
  const Mesh mesh_;
  LayerCosts costs_;
  MoveSeconds moves_;
  std::vector<LayerCost> of_;
};

}  // namespace

absl::StatusOr<PlacementGraph> PlacementTables(const LayerGraph& layers, int data, int model, StepPart part,
                                               const CostBasis& basis) {
  WholeLayers whole(layers, data, model, basis);
  RETURN_IF_ERROR(whole.Reckon());
  const int count = static_cast<int>(layers.layers.size());
  const bool backward = part == StepPart::kForwardAndBackward;
  PlacementGraph graph;
  for (int i = 0; i < count; ++i) {
    const LayerCost& cost = whole.Of(i);
    graph.ops.push_back(
        {layers.layers[i].name, cost.forward, cost.weight_bytes + cost.activation_bytes, backward ? i : -1});
  }
  std::vector<int> back(layers.layers.size(), -1);
  for (int i = count; backward && i-- > 0;) {
    const double seconds = whole.Of(i).backward + whole.Of(i).synchronization;
    if (seconds == 0) continue;
    back[i] = static_cast<int>(graph.ops.size());
    graph.edges.push_back({i, back[i], 0});
    graph.ops.push_back({layers.layers[i].name + " back", seconds, 0, i});
  }
  for (const LayerEdge& edge : layers.edges) {
    const double seconds = whole.Link().SecondsOf(whole.BytesOf(edge));
    graph.edges.push_back({edge.from, edge.to, seconds});
    if (!layers.wanted[edge.value] || back[edge.from] < 0 || back[edge.to] < 0) continue;
    graph.edges.push_back({back[edge.to], back[edge.from], seconds});
  }
  return graph;
}

absl::StatusOr<std::vector<PipelineLayer>> PipelineTables(const LayerGraph& layers, int data, int model,
                                                          const CostBasis& basis) {
  WholeLayers whole(layers, data, model, basis);
  RETURN_IF_ERROR(whole.Reckon());
  const double launch = basis.cluster.KindOf(0).launch_seconds;
  std::vector<PipelineLayer> chain;
  for (size_t i = 0; i < layers.layers.size(); ++i) {
    const LayerCost& cost = whole.Of(static_cast<int>(i));
    const double forward = launch * cost.forward_launches, backward = launch * cost.backward_launches;
    PipelineLayer layer{layers.layers[i].name, cost.forward - forward, cost.backward - backward, forward + backward};
    layer.weight_bytes = cost.weight_bytes;
    layer.activation_bytes = cost.activation_bytes;
    std::set<ValueId> passing;
    for (const LayerEdge& edge : layers.edges) {
      if (edge.from > static_cast<int>(i) || edge.to <= static_cast<int>(i)) continue;
      if (passing.insert(edge.value).second) layer.send += whole.Link().beta * whole.BytesOf(edge);
    }
    layer.latency = whole.Link().alpha * static_cast<double>(passing.size());
    chain.push_back(std::move(layer));
  }
  return chain;
}

}  // namespace partita
