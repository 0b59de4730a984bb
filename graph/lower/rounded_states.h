// Finds the states that are also stored in bf16 (docs/design.md 5.27): layers of mixed precision read these copies.
// Instead of a cast in every step, the update that makes a new state also rounds it.
//
//   before   %w@bf16 = cast(%w)   %y = conv2d(%x, %w@bf16)   ...   %w', %m' = sgd_momentum(%w, %g, %m, ...)
//   after    %y = conv2d(%x, %w@bf16)   ...   %w', %m', %w@bf16' = sgd_momentum(%w, %g, %m, ...)
#ifndef PARTITA_GRAPH_LOWER_ROUNDED_STATES_H_
#define PARTITA_GRAPH_LOWER_ROUNDED_STATES_H_

#include <vector>

#include "graph/ir/program.h"

namespace partita {

// Whether `node` makes of an f32 value the same in bf16.
bool RoundsToBf16(const Graph& graph, const Node& node);

// By state of the program (Program::state_graph): some entry point rounds it, and each that changes it does so by a
// node that can write it rounded too (OpDefinition::rounds), with no move behind it. A sharded update is none. Linear
// in the program's nodes.
std::vector<bool> KeptRounded(const Program& program);

}  // namespace partita

#endif  // PARTITA_GRAPH_LOWER_ROUNDED_STATES_H_
