// The best placement of a few ops by branch and bound: devices for the ops one after the other, then orders.
#ifndef PARTITA_PARTITIONER_SEARCH_PLACEMENT_BLOCK_PLACEMENT_H_
#define PARTITA_PARTITIONER_SEARCH_PLACEMENT_BLOCK_PLACEMENT_H_

#include "partitioner/search/placement/placement_graph.h"

namespace partita {

struct PlacementLimits {
  int devices = 2;
  double bytes = 0;         // of each device
  double most_nodes = 2e6;  // of the search in a block; the same on every machine
};

struct BlockPlacement {
  OpPlacement placement;  // empty: none was found
  double seconds = 0;
  double lower_bound = 0;
  bool proven = false;  // best, or, where none was found, that there is none
};

// Begins with HEFT. The first op lies on device 0.
BlockPlacement PlaceBlock(const PlacementGraph& graph, const PlacementLimits& limits);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_SEARCH_PLACEMENT_BLOCK_PLACEMENT_H_
