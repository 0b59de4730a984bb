#include "graph/ir/node_view.h"

namespace partita {
namespace {

NodeView ViewOfInputs(const Graph& graph, const Node& node) {
  NodeView view{node.attributes, {}, {}};
  view.inputs.reserve(node.inputs.size());
  for (const ValueId input : node.inputs) view.inputs.push_back(input == kNoValue ? nullptr : &graph.type(input));
  return view;
}

}  // namespace

NodeView ViewOf(const Graph& graph, const Node& node) {
  NodeView view = ViewOfInputs(graph, node);
  view.outputs.reserve(node.outputs.size());
  for (const ValueId output : node.outputs) view.outputs.push_back(graph.type(output));
  return view;
}

bool IsState(const Graph& graph, ValueId value) {
  return graph.node(graph.value(value).producer).op->role == Role::kState;
}

absl::StatusOr<std::vector<TensorType>> InferTypes(const Graph& graph, const Node& node) {
  return node.op->shape(ViewOfInputs(graph, node));
}

}  // namespace partita
