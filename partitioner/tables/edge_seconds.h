// Estimates the time to move a value from the layout that one layer makes to the one that another reads, and its
// gradient back (Jia et al., 1802.04924: the missing parts, region by region).
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
#include "partitioner/tables/move_seconds.h"

namespace partita {

// A way to hold or read a value. Of axes over which it is whole: where a reader is `idle`, each rank computes the whole
// gradient, else a summand; where a holder is `open`, it takes summands as they are, for another edge adds them up.
struct EdgeEnd {
  Layout layout;
  uint32_t idle = 0, open = 0;  // bit a: axis a
};

// Seconds from each of `from` (rows) to each of `to`. The slowest rank counts. `back`: the gradient goes back.
std::vector<double> EdgeSeconds(const TensorType& type, const std::vector<EdgeEnd>& from,
                                const std::vector<EdgeEnd>& to, bool back, const Mesh& mesh, MoveSeconds& moves);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_TABLES_EDGE_SECONDS_H_
