// Plans the moves that lead from one layout of a value to another.
#ifndef PARTITA_GRAPH_MOVES_PLAN_MOVE_H_
#define PARTITA_GRAPH_MOVES_PLAN_MOVE_H_

#include <vector>

#include "graph/ir/move_kind.h"
#include "graph/value/layout.h"

namespace partita {

// One move: its kind, the axes over which ranks meet (sorted), and the layout that the value has afterwards.
struct MoveStep {
  MoveKind kind = MoveKind::kRepartition;
  std::vector<int> axes;
  Layout to;
};

// The steps from `from` to `to`; empty if they are the same. All P axes that become R are one all_reduce over the
// joined set. Axes that split one dimension together change one by one only from the innermost outwards; all else is
// one repartition over the axes concerned, and so are changes of several axes that would move an element more than
// once. An axis may become P (zero_extend, last). Ghosts come last but that (halo_exchange: one dimension after the
// other, so that the second takes the corners along) and go first (halo_exchange_adjoint). Every pair of layouts that
// fit `shape` and `mesh` (CheckLayout) has its steps; only copies in the blocks of windows (Windows::summed is false)
// lead nowhere, and summands in them come from nowhere.
std::vector<MoveStep> PlanMove(const Layout& from, const Layout& to, const Shape& shape, const Mesh& mesh);

}  // namespace partita

#endif  // PARTITA_GRAPH_MOVES_PLAN_MOVE_H_
