// Estimates the time of one launch of a schedule on a cluster.
#ifndef PARTITA_PARTITIONER_COST_LAUNCH_COST_H_
#define PARTITA_PARTITIONER_COST_LAUNCH_COST_H_

#include <vector>

#include "graph/schedule/schedule.h"
#include "partitioner/cluster/cluster.h"
#include "partitioner/cost/compute_cost.h"
#include "partitioner/cost/group_cost.h"

namespace partita {

// Of a kernel (what is not in `times` by the roofline), or of copies, which read and write what they copy; none of the
// host's launches, and of collectives (below). `sharing`: RanksSharingCores.
double LaunchSeconds(const Launch& launch, const DeviceKind& kind, int sharing, const KernelTimes& times);

// Of what is gathered, scattered or reduced the whole: what GroupSeconds takes. Not of an all_to_all.
double BytesOf(const CollectiveLaunch& call);

// How long a rank of a group is busy in an all_to_all: what it sends goes to one after the other of those that it has
// something for, while what it receives comes in so; the longer of both. `crossings`: as of LevelsOf.
double MessageSeconds(const Cluster& cluster, const CollectiveLaunch& call, const std::vector<int>& group, int rank,
                      const Crossings& crossings);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_COST_LAUNCH_COST_H_
