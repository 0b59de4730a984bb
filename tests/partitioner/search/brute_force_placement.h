// The best placement of a few ops by trying everything: devices, and orders in which each device and link does one
// thing at a time.
#ifndef PARTITA_TESTS_PARTITIONER_SEARCH_BRUTE_FORCE_PLACEMENT_H_
#define PARTITA_TESTS_PARTITIONER_SEARCH_BRUTE_FORCE_PLACEMENT_H_

#include <random>
#include <vector>

#include "partitioner/search/placement/placement_graph.h"

namespace partita {

// Ops of these seconds and of one byte each.
PlacementGraph GraphOf(const std::vector<double>& seconds, const std::vector<PlacedEdge>& edges);

// Of two to six ops, seconds and bytes whole numbers; some values are read by several ops. `together`: some ops lie
// together.
PlacementGraph RandomPlacementGraph(std::mt19937& random, bool together);

bool KeepsTogether(const PlacementGraph& graph, const std::vector<int>& device);

// The end of the best placement; infinity: none fits this number of bytes per device.
double BestEndOfAll(const PlacementGraph& graph, int devices, double bytes);

// When a placement ends; fails where two things overlap on a device or something starts before what it reads.
double ReplayedEnd(const PlacementGraph& graph, const OpPlacement& placement);

}  // namespace partita

#endif  // PARTITA_TESTS_PARTITIONER_SEARCH_BRUTE_FORCE_PLACEMENT_H_
