// The placement that every search must reach: HEFT (H. Topcuoglu, S. Hariri, M. Wu, 2002) on equal devices.
#ifndef PARTITA_PARTITIONER_SEARCH_PLACEMENT_HEFT_H_
#define PARTITA_PARTITIONER_SEARCH_PLACEMENT_HEFT_H_

#include <optional>
#include <vector>

#include "partitioner/search/placement/placement_graph.h"

namespace partita {

// Ops in the order of their longest way to the end, transfers included, each on the device on which it ends first, of
// those with room for it and for what lies together with it. None: an op found no room.
std::optional<std::vector<int>> HeftDevices(const PlacementGraph& graph, int devices, double bytes);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_SEARCH_PLACEMENT_HEFT_H_
