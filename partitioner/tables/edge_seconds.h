// How long a value takes from how one layer makes it to how another reads it, and its gradient back (Jia et al.,
// 1802.04924: what is needed and not there, region by region).
//
//   forward    each rank gets what it reads and does not hold
//   back       each gets the gradients of what it holds and did not read, and gives those of what it read and does not
//              hold; where ranks that have the same value whole each have a part of its gradient, these are added up
#ifndef PARTITA_PARTITIONER_TABLES_EDGE_SECONDS_H_
#define PARTITA_PARTITIONER_TABLES_EDGE_SECONDS_H_

#include <cstdint>
#include <vector>

#include "graph/ir/graph.h"
#include "graph/value/layout.h"
#include "partitioner/tables/choice.h"
#include "partitioner/tables/move_seconds.h"

namespace partita {

// A way to hold or read a value.
struct EdgeEnd {
  Layout layout;
  Choice choice;  // of the layer; empty: not looked at
};

// Seconds from each of `from` (rows) to each of `to`. The slowest rank counts. `back`: the gradient goes back.
std::vector<double> EdgeSeconds(const TensorType& type, const std::vector<EdgeEnd>& from,
                                const std::vector<EdgeEnd>& to, bool back, const Mesh& mesh, MoveSeconds& moves);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_TABLES_EDGE_SECONDS_H_
