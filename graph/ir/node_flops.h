// The floating-point operations of a node, and the bytes that it reads and writes.
#ifndef PARTITA_GRAPH_IR_NODE_FLOPS_H_
#define PARTITA_GRAPH_IR_NODE_FLOPS_H_

#include "graph/ir/graph.h"
#include "graph/ir/kernel_catalogue.h"

namespace partita {

// Of the whole (global) node; 0 where the op says nothing.
double FlopsOf(const Graph& graph, const Node& node);

// Of a rank's share, all members together.
double FlopsOf(const LocalNode& node);

// The bytes of a rank's share: every input and output counts once. If ids choose rows of a table, only these rows of
// the table and of its optimizer slots count.
double BytesOf(const LocalNode& node);

}  // namespace partita

#endif  // PARTITA_GRAPH_IR_NODE_FLOPS_H_
