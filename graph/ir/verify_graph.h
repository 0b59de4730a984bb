// Checks any graph, forward or partitioned, as a pass leaves it behind.
#ifndef PARTITA_GRAPH_IR_VERIFY_GRAPH_H_
#define PARTITA_GRAPH_IR_VERIFY_GRAPH_H_

#include "absl/status/status.h"
#include "graph/ir/op_definition.h"

namespace partita {

// What every pass must keep:
//   - a node has as many inputs and outputs as its op, all its attributes, and reads values of earlier nodes
//   - the types of its outputs are those that its op infers
//   - layouts fit shapes and mesh; over each axis those of a node are all R, all At one coordinate, or a rule of its
//   op;
//     those of a move change over its own axes only, and as the move says
//   - states are outputs of parameter and state nodes, and their updates have their types and layouts
//   - loss and metrics exist
// kInternal names the node: a graph that fails was broken by the program, not by its user. Linear; no recursion.
absl::Status VerifyGraph(const Graph& graph);

}  // namespace partita

#endif  // PARTITA_GRAPH_IR_VERIFY_GRAPH_H_
