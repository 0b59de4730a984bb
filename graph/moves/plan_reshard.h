// Between which layouts a value goes from one mesh to another.
//
//   {a:P b:S0} -> all_reduce, reduce_scatter or sum_reduce -> {a:.. b:S0} -> reshard -> {c:S0} -> halo_exchange -> ..
//
// A reshard moves blocks as they lie: sums are added up before it, on their own mesh, and copies in ghosts are made
// after it, on the other.
#ifndef PARTITA_GRAPH_MOVES_PLAN_RESHARD_H_
#define PARTITA_GRAPH_MOVES_PLAN_RESHARD_H_

#include <vector>

#include "graph/ir/graph.h"

namespace partita {

// Where a reshard must lead so that moves on the other mesh lead on to `to`: without sums and windows.
Layout ArrivalFor(const Layout& to);

// The layout to which a value at `from` must move on its own mesh before a reshard takes it to `arrival`: `from` itself
// unless it has sums or summed ghosts. Sums become whole on all ranks, on one, or split by one of the dimensions: the
// choice with the fewest wire bytes including the reshard, in this order among equals.
Layout DepartureFor(const Layout& from, const Layout& arrival, const TensorType& type, const std::vector<Mesh>& meshes);

}  // namespace partita

#endif  // PARTITA_GRAPH_MOVES_PLAN_RESHARD_H_
