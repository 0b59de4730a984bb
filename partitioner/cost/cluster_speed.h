// Computes the machine speed for the compiler from a cluster (graph/schedule/machine_speed.h).
#ifndef PARTITA_PARTITIONER_COST_CLUSTER_SPEED_H_
#define PARTITA_PARTITIONER_COST_CLUSTER_SPEED_H_

#include "graph/schedule/machine_speed.h"
#include "partitioner/cluster/cluster.h"

namespace partita {

// Of the slowest of the first `ranks` devices, its share of cores that several have in common; of the slowest link of a
// ring through them, and of an all_reduce of them all. One rank alone sends nothing: its links have no speed. The
// cluster has a device for each rank (CheckRanks). Linear in the ranks.
MachineSpeed SpeedOf(const Cluster& cluster, int ranks);

// Bytes a second of the ring through ranks first .. first + count - 1; infinity for one alone.
double RingBytesPerSecond(const Cluster& cluster, int first, int count);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_COST_CLUSTER_SPEED_H_
