#include "graph/node_flops.h"

#include "graph/op_definition.h"

namespace partita {

double FlopsOf(const Graph& graph, const Node& node) {
  if (!node.op->flops) return 0;
  NodeView view{node.attributes, {}, {}};
  for (const ValueId input : node.inputs) view.inputs.push_back(input == kNoValue ? nullptr : &graph.type(input));
  for (const ValueId output : node.outputs) view.outputs.push_back(graph.type(output));
  return node.op->flops(view);
}

}  // namespace partita
