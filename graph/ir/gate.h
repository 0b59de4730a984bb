// The gate of updates: which node makes what a state becomes, and by which input it knows whether the step is applied
// (Graph::apply).
#ifndef PARTITA_GRAPH_IR_GATE_H_
#define PARTITA_GRAPH_IR_GATE_H_

#include <algorithm>

#include "graph/ir/graph.h"
#include "graph/ir/op_definition.h"

namespace partita {

// The value that moves have brought here; itself if none has.
inline ValueId BeforeMoves(const Graph& graph, ValueId value) {
  const Node* node = &graph.node(graph.value(value).producer);
  while (node->op->move) {
    const auto place = std::ranges::find(node->outputs, value) - node->outputs.begin();
    value = node->inputs[place];
    node = &graph.node(graph.value(value).producer);
  }
  return value;
}

// The place of the op's input that is its gate (InputDefinition::gate); -1: it has none.
inline int GateOf(const OpDefinition& op) {
  const auto gate = std::ranges::find(op.inputs, true, &InputDefinition::gate);
  return gate == op.inputs.end() ? -1 : static_cast<int>(gate - op.inputs.begin());
}

}  // namespace partita

#endif  // PARTITA_GRAPH_IR_GATE_H_
