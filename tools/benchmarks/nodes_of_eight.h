// The cluster of benchmarks that run nothing on it.
#ifndef PARTITA_TOOLS_BENCHMARKS_NODES_OF_EIGHT_H_
#define PARTITA_TOOLS_BENCHMARKS_NODES_OF_EIGHT_H_

#include "absl/status/statusor.h"
#include "partitioner/cluster/cluster.h"

namespace partita {

inline constexpr int kDevicesOfNode = 8;

// A cluster of at least this number of devices, eight per node. Its speeds are round numbers, because planning time
// does not depend on them.
absl::StatusOr<Cluster> NodesOfEight(int ranks);

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_NODES_OF_EIGHT_H_
