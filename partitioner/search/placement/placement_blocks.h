// Cuts a graph into blocks that can be placed one by one.
#ifndef PARTITA_PARTITIONER_SEARCH_PLACEMENT_PLACEMENT_BLOCKS_H_
#define PARTITA_PARTITIONER_SEARCH_PLACEMENT_PLACEMENT_BLOCKS_H_

#include <vector>

#include "partitioner/search/placement/placement_graph.h"

namespace partita {

// Ops that are before or after each other op: while one runs, nothing else does.
std::vector<bool> ComparableToAll(const PlacementGraph& graph);

// From one such op to the next, both included; the first block may begin before any, the last end after all. An op that
// a transfer could pass by, or around which ops lie together, is no border. With equal devices the best placements of
// the blocks, with devices renumbered so that they meet, are the best of the whole.
std::vector<std::vector<int>> PlacementBlocks(const PlacementGraph& graph);

// The part of the graph with these ops, in ascending order.
PlacementGraph PartOf(const PlacementGraph& graph, const std::vector<int>& ops);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_SEARCH_PLACEMENT_PLACEMENT_BLOCKS_H_
