// Checks any graph, forward or partitioned, as a pass leaves it behind.
#ifndef PARTITA_GRAPH_VERIFY_VERIFY_GRAPH_H_
#define PARTITA_GRAPH_VERIFY_VERIFY_GRAPH_H_

#include "absl/status/status.h"
#include "graph/ir/op_definition.h"

namespace partita {

// What every pass must keep:
//   - a node has as many inputs and outputs as its op, all its attributes, and reads values of earlier nodes
//   - the types of its outputs are those that its op infers
//   - layouts fit shapes and mesh; those of a node's operands are as its op needs them, and their parts meet on every
//     rank (graph/verify/verify_operands.h); those of a move change over its own axes only, as the move says, and no
//     split that it leaves alone lies inside what changes
//   - sources hold neither sums nor ghosts
//   - states are outputs of parameter and state nodes, and their updates have their types and layouts
//   - loss and metrics exist; votes are summands in an input, and their sum lies whole on every rank
// kInternal names the node: a graph that fails was broken by the program, not by its user. Linear; no recursion.
absl::Status VerifyGraph(const Graph& graph);

}  // namespace partita

#endif  // PARTITA_GRAPH_VERIFY_VERIFY_GRAPH_H_
