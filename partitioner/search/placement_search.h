// Pal's placement inside a worker group (1907.13257, DLPlacer): a device for each op, so that a step ends the earliest.
#ifndef PARTITA_PARTITIONER_SEARCH_PLACEMENT_SEARCH_H_
#define PARTITA_PARTITIONER_SEARCH_PLACEMENT_SEARCH_H_

#include "absl/status/statusor.h"
#include "partitioner/search/answer.h"
#include "partitioner/search/placement/block_placement.h"
#include "partitioner/search/placement/placement_graph.h"

namespace partita {

// For equal devices. The graph is cut into blocks, and each distinct block is placed once. If their placements exceed
// the memory limit, the whole graph is searched. Never slower than HEFT. Rejected: one device, HEFT, and what moving an
// op alone (or what lies together) would do. Refuses limits under which it finds no placement.
absl::StatusOr<Answer<OpPlacement>> PlacementSearch(const PlacementGraph& graph, const PlacementLimits& limits);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_SEARCH_PLACEMENT_SEARCH_H_
