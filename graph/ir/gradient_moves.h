// Which moves carry gradients: they overlap with the rest of the backward pass, and the update waits for them.
#ifndef PARTITA_GRAPH_IR_GRADIENT_MOVES_H_
#define PARTITA_GRAPH_IR_GRADIENT_MOVES_H_

#include <vector>

#include "graph/ir/graph.h"

namespace partita {

// By node: a move of the backward pass whose results only other moves read before the update.
std::vector<bool> GradientMoves(const Graph& graph);

}  // namespace partita

#endif  // PARTITA_GRAPH_IR_GRADIENT_MOVES_H_
