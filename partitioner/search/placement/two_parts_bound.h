// A lower bound of a step's time from separate placements of its forward and backward ops.
//
//   A ── loss ══ loss' ── A'      A and the loss end before anything of the backward part begins, so their best and the
//   └─ accuracy                   backward part's best follow each other; accuracy may run beside the latter.
#ifndef PARTITA_PARTITIONER_SEARCH_PLACEMENT_TWO_PARTS_BOUND_H_
#define PARTITA_PARTITIONER_SEARCH_PLACEMENT_TWO_PARTS_BOUND_H_

#include "partitioner/search/placement/placement_graph.h"

namespace partita {

// A bound of the whole graph from bounds of its two parts; the first part is its first `first_ops` ops. Of the first
// part only what all ops of the second part wait for counts: its bound, less the serial time of its other ops and their
// transfers, because those could follow it. Several losses leave little of it; one loss leaves all but metrics.
double TwoPartsBound(const PlacementGraph& graph, int first_ops, double first_bound, double second_bound);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_SEARCH_PLACEMENT_TWO_PARTS_BOUND_H_
