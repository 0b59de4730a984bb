#include "graph/ir/gate.h"

#include <algorithm>

#include "graph/ir/op_definition.h"

namespace partita {

ValueId BeforeMoves(const Graph& graph, ValueId value) {
  const Node* node = &graph.node(graph.value(value).producer);
  while (node->op->move) {
    const auto place = std::ranges::find(node->outputs, value) - node->outputs.begin();
    value = node->inputs[place];
    node = &graph.node(graph.value(value).producer);
  }
  return value;
}

int GateOf(const OpDefinition& op) {
  const auto gate = std::ranges::find(op.inputs, true, &InputDefinition::gate);
  return gate == op.inputs.end() ? -1 : static_cast<int>(gate - op.inputs.begin());
}

}  // namespace partita
