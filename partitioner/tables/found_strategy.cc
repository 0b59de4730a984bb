#include "partitioner/tables/found_strategy.h"

#include <fmt/format.h>

#include <functional>
#include <utility>

#include "graph/ir/generated_name.h"

namespace partita {
namespace {

// Calls what is to be said of each node of the user that computes or feeds something, with its layer.
void ForEachNode(const Graph& forward, const LayerGraph& layers, const std::function<void(NodeId, int)>& say) {
  for (NodeId id = 0; id < static_cast<NodeId>(forward.nodes().size()); ++id) {
    const auto layer = layers.layer_of_name.find(forward.name(id));
    if (layer != layers.layer_of_name.end() && !forward.node(id).op->is_state()) say(id, layer->second);
  }
}

AxisConfig ConfigOf(const Graph& forward, const Node& node, Cut of_layer, bool leads) {
  const Shape& shape = forward.type(node.outputs[0]).shape;
  const Cut cut = CutOfNode(of_layer, leads, shape.size());
  if (cut == Cut::kWhole) return {"replicate", 0, {}};
  const std::vector<Rule> splits = SplitsOf(forward, node);
  const Rule* const found = FindSplit(splits, shape, cut);
  return {found == nullptr ? "replicate" : found->name, 0, {}};
}

}  // namespace

Strategy StrategyOfChoices(const Graph& forward, const LayerGraph& layers, const Mesh& mesh,
                           const std::vector<Choice>& choices) {
  Strategy strategy;
  strategy.mesh = mesh;
  ForEachNode(forward, layers, [&](NodeId id, int layer) {
    OpConfig entry{forward.name(id), {}, {}};
    const bool leads = UserNameOf(layers.layers[layer].name) == forward.name(id);
    for (size_t a = 0; a < mesh.axes.size(); ++a)
      entry.axes[mesh.axes[a].name] = ConfigOf(forward, forward.node(id), choices[layer][a], leads);
    strategy.ops.push_back(std::move(entry));
  });
  for (size_t i = 0; i < layers.shared.size(); ++i) {
    const Value& parameter = layers.graph.value(layers.shared[i]);
    OpConfig entry{parameter.name, {}, {}};
    for (size_t a = 0; a < mesh.axes.size(); ++a) {
      const int dimension = DimensionOf(choices[layers.layers.size() + i][a], parameter.type.shape.size());
      entry.axes[mesh.axes[a].name] = {dimension < 0 ? "replicate" : fmt::format("dimension{}", dimension), 0, {}};
    }
    strategy.ops.push_back(std::move(entry));
  }
  return strategy;
}

Strategy StrategyOfRanks(const Graph& forward, const LayerGraph& layers, int data, const std::string& axis, int size,
                         const std::vector<int>& ranks) {
  Strategy strategy;
  strategy.mesh.axes = {{"data", data}, {axis, size}};
  ForEachNode(forward, layers, [&](NodeId id, int layer) {
    OpConfig entry{forward.name(id), {}, {}};
    entry.axes["data"] = ConfigOf(forward, forward.node(id), Cut::kSamples, /*leads=*/false);
    entry.axes[axis] = {"at", ranks[layer], {}};
    strategy.ops.push_back(std::move(entry));
  });
  return strategy;
}

}  // namespace partita
