// Moves the start of halo exchanges ahead of independent work.
#ifndef PARTITA_GRAPH_LOWER_LAUNCH_HALOS_EARLY_H_
#define PARTITA_GRAPH_LOWER_LAUNCH_HALOS_EARLY_H_

#include "graph/ir/graph.h"
#include "graph/schedule/local_program.h"

namespace partita {

// Launches the exchanges of halos, and of ghosts on their way back, as soon as what they send is there: behind the
// launch that makes it, but never before another collective. So ghosts of an input's gradient travel while the gradient
// of the weights is computed.
//
//   before   dx = input_grad(dy)   dw = weight_grad(x, dy)   pack ghosts of dx   exchange   add
//   after    dx = input_grad(dy)   pack ghosts of dx   exchange   dw = weight_grad(x, dy)   add
//
// A rank that sends nothing leaves its part of an exchange where it is. Before AssignStorage. Linear in the launches
// and in those that are passed.
void LaunchHalosEarly(LocalProgram& program, const Graph& entry);

}  // namespace partita

#endif  // PARTITA_GRAPH_LOWER_LAUNCH_HALOS_EARLY_H_
