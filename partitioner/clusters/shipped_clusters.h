// The clusters of this folder, as they were when the program was built.
#ifndef PARTITA_PARTITIONER_CLUSTERS_SHIPPED_CLUSTERS_H_
#define PARTITA_PARTITIONER_CLUSTERS_SHIPPED_CLUSTERS_H_

#include <map>
#include <string>

#include "partitioner/cluster/cluster.h"

namespace partita {

// By the name of its file without the ending: "dgx1_v100". Read by the first call. Thread-safe.
const std::map<std::string, Cluster>& ShippedClusters();

}  // namespace partita

#endif  // PARTITA_PARTITIONER_CLUSTERS_SHIPPED_CLUSTERS_H_
