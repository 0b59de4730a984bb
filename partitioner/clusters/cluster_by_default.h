// The default cluster of a device: one of this folder.
#ifndef PARTITA_PARTITIONER_CLUSTERS_CLUSTER_BY_DEFAULT_H_
#define PARTITA_PARTITIONER_CLUSTERS_CLUSTER_BY_DEFAULT_H_

#include <string>

#include "graph/schedule/machine_speed.h"
#include "partitioner/cluster/cluster.h"

namespace partita {

// `gpu`: its model, as its driver has it ("NVIDIA H200"); empty: the host, which is taken for the one that we measured
// (two_cores). A GPU that no cluster has is taken for an H200, the one that is described where there is none.
const Cluster& ClusterByDefault(const std::string& gpu = "");

// What the compiler's choices ask of `ranks` devices there; where it has fewer, of all of them. Thread-safe.
MachineSpeed SpeedByDefault(int ranks, const std::string& gpu = "");

}  // namespace partita

#endif  // PARTITA_PARTITIONER_CLUSTERS_CLUSTER_BY_DEFAULT_H_
