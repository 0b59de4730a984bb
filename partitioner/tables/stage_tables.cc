#include "partitioner/tables/stage_tables.h"

#include <algorithm>
#include <set>
#include <utility>

#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr uint32_t kDataAxis = 1U << 0, kModelAxis = 1U << 1;  // of a GroupMesh

// The ops of a placement, forward before backward.
class PlacementMaker {
 public:
  PlacementMaker(const WholeLayers& whole, StepPart part)
      : layers_(whole.layers()),
        whole_(whole),
        part_(part),
        forward_(layers_.layers.size(), -1),
        backward_(layers_.layers.size(), -1) {}

  PlacementTable Run() {
    const int count = static_cast<int>(layers_.layers.size());
    for (int i = 0; i < count && part_ != StepPart::kBackward; ++i) AddForward(i);
    table_.forward_ops = static_cast<int>(table_.graph.ops.size());
    const bool backward = part_ == StepPart::kBackward || part_ == StepPart::kBoth;
    for (int i = count; backward && i-- > 0;) AddBackward(i);
    for (const LayerEdge& edge : layers_.edges) AddEdges(edge);
    return std::move(table_);
  }

 private:
  double BackwardSeconds(int layer) const {
    const LayerCost& cost = whole_.CostOf(layer);
    return cost.backward + cost.synchronization;
  }

  int AddOp(int layer, const char* part, double seconds, double bytes) {
    const int together = part_ == StepPart::kBoth ? layer : -1;
    table_.layer_of_op.push_back(layer);
    table_.graph.ops.push_back({layers_.layers[layer].name + part, seconds, bytes, together});
    return static_cast<int>(table_.graph.ops.size()) - 1;
  }

  void AddForward(int layer) {
    if (layers_.lead(layers_.layers[layer]).op->role == Role::kInput) return;
    const LayerCost& cost = whole_.CostOf(layer);
    const double joined = part_ == StepPart::kJoined ? BackwardSeconds(layer) : 0;
    forward_[layer] = AddOp(layer, "", cost.forward + joined, cost.weight_bytes + cost.activation_bytes);
  }

  void AddBackward(int layer) {
    const std::vector<ValueId>& makes = layers_.layers[layer].makes;
    if (std::ranges::none_of(makes, [&](ValueId value) { return layers_.wanted[value]; })) return;
    backward_[layer] = AddOp(layer, " back", BackwardSeconds(layer), 0);
    if (forward_[layer] >= 0) table_.graph.edges.push_back({forward_[layer], backward_[layer], 0});
  }

  // A value's readers on one device share its transfer, and so do their parts of its gradient.
  void AddEdges(const LayerEdge& edge) {
    const double seconds = whole_.link().SecondsOf(whole_.BytesOf(edge));
    const double ways = part_ == StepPart::kJoined && layers_.wanted[edge.value] ? 2 : 1;
    if (forward_[edge.from] >= 0)
      table_.graph.edges.push_back({forward_[edge.from], forward_[edge.to], ways * seconds, edge.value});
    if (!layers_.wanted[edge.value] || backward_[edge.from] < 0 || backward_[edge.to] < 0) return;
    const int gradient = edge.value + static_cast<int>(layers_.graph.values().size());
    table_.graph.edges.push_back({backward_[edge.to], backward_[edge.from], seconds, gradient});
  }

  const LayerGraph& layers_;
  const WholeLayers& whole_;
  const StepPart part_;
  PlacementTable table_;
  std::vector<int> forward_, backward_;  // the layers' ops; -1: none
};

}  // namespace

absl::StatusOr<WholeLayers> WholeLayers::Of(LayerCosts& costs) {
  WholeLayers whole;
  const LayerGraph& layers = costs.layers();
  whole.layers_ = &layers;
  whole.mesh_ = costs.mesh();
  for (const OpLayer& layer : layers.layers) {
    const Node& lead = layers.lead(layer);
    const Shape& shape = layers.graph.type(lead.outputs[0]).shape;
    const bool samples = FindSplit(layers.splits[layer.nodes[0]], shape, Cut::kSamples) != nullptr;
    const absl::StatusOr<LayerCost>& cost = costs.Of(layer, {samples ? Cut::kSamples : Cut::kWhole, Cut::kFirst});
    if (!cost.ok()) return WithContext("layer '" + layer.name + "'", cost.status());
    whole.costs_.push_back(*cost);
  }
  for (const ValueId parameter : layers.shared) whole.AddShared(costs, parameter);
  whole.link_ = costs.moves().LinkOver(kModelAxis);
  whole.launch_seconds_ = costs.basis().cluster.KindOf(0).launch_seconds;
  return whole;
}

// It lies where the first of its readers does, which updates it. What it takes to send it to the others is left out.
void WholeLayers::AddShared(LayerCosts& costs, ValueId parameter) {
  const auto reads = [&](const OpLayer& layer) {
    return std::ranges::find(layer.reads, parameter) != layer.reads.end();
  };
  const auto first = std::ranges::find_if(layers_->layers, reads) - layers_->layers.begin();
  const SharedCost shared = costs.OfShared(parameter, Replicated(mesh_), mesh_.axes[0].size > 1 ? kDataAxis : 0);
  LayerCost& cost = costs_[first];
  cost.weight_bytes += shared.weight_bytes;
  cost.synchronization += shared.synchronization;
  cost.update += shared.update;
}

double WholeLayers::BytesOf(const LayerEdge& edge) const {
  const TensorType& type = layers_->graph.type(edge.value);
  const std::optional<Box> box = LocalBox(costs_[edge.from].makes[edge.made], type.shape, mesh_, 0);
  return static_cast<double>(box->elements() * SizeOf(type.dtype));
}

PlacementTable PlacementTableOf(const WholeLayers& whole, StepPart part) { return PlacementMaker(whole, part).Run(); }

std::vector<int> DevicesOfLayers(const LayerGraph& layers, const PlacementTable& table,
                                 const std::vector<int>& devices) {
  std::vector<int> of_layer(layers.layers.size(), -1);
  for (size_t op = 0; op < devices.size(); ++op) of_layer[table.layer_of_op[op]] = devices[op];
  for (const LayerEdge& edge : layers.edges) {
    if (of_layer[edge.from] < 0) of_layer[edge.from] = of_layer[edge.to];
  }
  for (int& device : of_layer) device = std::max(device, 0);
  return of_layer;
}

std::vector<PipelineLayer> PipelineTable(const WholeLayers& whole) {
  const LayerGraph& layers = whole.layers();
  std::vector<PipelineLayer> chain;
  for (size_t i = 0; i < layers.layers.size(); ++i) {
    const LayerCost& cost = whole.CostOf(static_cast<int>(i));
    // A measured kernel may be quicker than what the machine's launches are said to cost.
    const double forward = std::min(cost.forward, whole.launch_seconds() * cost.forward_launches);
    const double backward = std::min(cost.backward, whole.launch_seconds() * cost.backward_launches);
    PipelineLayer layer{layers.layers[i].name, cost.forward - forward, cost.backward - backward, forward + backward};
    layer.weight_bytes = cost.weight_bytes;
    layer.activation_bytes = cost.activation_bytes;
    std::set<ValueId> passing;
    for (const LayerEdge& edge : layers.edges) {
      if (edge.from > static_cast<int>(i) || edge.to <= static_cast<int>(i)) continue;
      if (passing.insert(edge.value).second) layer.send += whole.link().beta * whole.BytesOf(edge);
    }
    layer.latency = whole.link().alpha * static_cast<double>(passing.size());
    chain.push_back(std::move(layer));
  }
  return chain;
}

}  // namespace partita
