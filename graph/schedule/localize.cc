#include "graph/schedule/localize.h"

#include <algorithm>

#include "graph/ir/op_definition.h"
#include "runtime/base/status.h"

namespace partita {

LocalGraph Localize(const Graph& graph, int rank) {
  LocalGraph local;
  local.values.reserve(graph.values().size());
  for (const Value& value : graph.values()) {
    std::optional<Box> box = LocalBox(value.layout, value.type.shape, graph.mesh(value.layout), rank);
    if (box) {
      local.values.push_back(LocalTensor{value.type.dtype, value.type.shape, *std::move(box)});
    } else {
      local.values.push_back(std::nullopt);
    }
  }
  return local;
}

LocalTensor LocalTensorOf(const Graph& graph, ValueId value, int rank) {
  const TensorType& type = graph.type(value);
  const Box nothing = {Shape(type.shape.size(), 0), Shape(type.shape.size(), 0)};
  const Layout& layout = graph.layout(value);
  return {type.dtype, type.shape, LocalBox(layout, type.shape, graph.mesh(layout), rank).value_or(nothing)};
}

bool Runs(const LocalGraph& local, const Node& node) {
  return std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId output) { return local.Holds(output); });
}

namespace {

bool ReplicatedOverRanks(const Layout& layout, const Mesh& mesh) {
  for (size_t a = 0; a < layout.size(); ++a) {
    if (layout[a].replicated() && mesh.axes[a].size > 1) return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<LocalNode> MakeLocalNode(const Graph& graph, const LocalGraph& local, NodeId id) {
  const Node& node = graph.node(id);
  LocalNode result{graph.name(id), node.op, node.attributes, {}, {}};
  result.micro_batch = node.micro_batch;
  const auto elsewhere = [&](ValueId value) {
    return Internal("node '{}' ({}) runs on a rank that does not hold '{}' {}", graph.name(id), node.op->name,
                    graph.value(value).name, ToString(graph.layout(value), graph.mesh(value)));
  };
  result.inputs.reserve(node.inputs.size());
  for (ValueId input : node.inputs) {
    if (input != kNoValue && !local.values[input]) return elsewhere(input);
    result.inputs.push_back(input == kNoValue ? std::nullopt : local.values[input]);
  }
  result.outputs.reserve(node.outputs.size());
  for (ValueId output : node.outputs) {
    if (!local.values[output]) return elsewhere(output);
    result.outputs.push_back(*local.values[output]);
    result.replicated = result.replicated || ReplicatedOverRanks(graph.layout(output), graph.mesh(output));
  }
  return result;
}

}  // namespace partita
