// Which moves lead from one layout of a value to another.
#ifndef PARTITA_GRAPH_MOVES_PLAN_MOVE_H_
#define PARTITA_GRAPH_MOVES_PLAN_MOVE_H_

#include <string>
#include <vector>

#include "graph/layout.h"

namespace partita {

// One move: the op's name, the axes over which ranks meet (sorted), and the layout that the value has afterwards.
struct MoveStep {
  std::string op;
  std::vector<int> axes;
  Layout to;
};

// The steps from `from` to `to`; empty if they are the same. All P axes that become R are one all_reduce over the
// joined set. Axes that split one dimension together change one by one only from the innermost outwards; everything
// else is one repartition. An axis may become P (zero_extend). Ghosts come last (halo_exchange: one dimension after the
// other, so that the second takes the corners along) and go first (halo_exchange_adjoint). Copies in the blocks of
// windows (Windows::summed is false) lead nowhere. Layouts must fit `shape` and `mesh` (CheckLayout).
std::vector<MoveStep> PlanMove(const Layout& from, const Layout& to, const Shape& shape, const Mesh& mesh);

}  // namespace partita

#endif  // PARTITA_GRAPH_MOVES_PLAN_MOVE_H_
