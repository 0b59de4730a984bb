// The gate of updates: which node makes what a state becomes, and by which input it knows whether the step is applied
// (Graph::apply).
#ifndef PARTITA_GRAPH_IR_GATE_H_
#define PARTITA_GRAPH_IR_GATE_H_

#include "graph/ir/graph.h"

namespace partita {

// The value that moves have brought here; itself if none has.
ValueId BeforeMoves(const Graph& graph, ValueId value);

// The place of the op's input that is its gate (InputDefinition::gate); -1: it has none.
int GateOf(const OpDefinition& op);

}  // namespace partita

#endif  // PARTITA_GRAPH_IR_GATE_H_
