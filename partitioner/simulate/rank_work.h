// The work of ranks in a step, as a simulation needs it: what each launch waits for, and how long it takes.
#ifndef PARTITA_PARTITIONER_SIMULATE_RANK_WORK_H_
#define PARTITA_PARTITIONER_SIMULATE_RANK_WORK_H_

#include <span>
#include <vector>

#include "graph/schedule/group_table.h"
#include "graph/schedule/schedule.h"
#include "partitioner/cluster/cluster.h"
#include "partitioner/cost/compute_cost.h"

namespace partita {

struct TimedLaunch {
  double seconds = 0;                      // of kernels and copies; none of the host's
  const CollectiveLaunch* call = nullptr;  // of a collective, else nullptr
  int key = -1;                            // of a call: by which its group is found (GroupTable)
  int before = -1;                         // on its stream; -1: it is the first
  double wake_seconds = 0;                 // it starts so late if it waits longer for others than for that one
  int waits = 0;                           // number of launches that must end before
  std::vector<int> next;                   // launches that wait for this one
};

struct RankWork {
  const Schedule* schedule = nullptr;
  std::vector<TimedLaunch> launches;
};

// Different ones, and which of them each rank does.
struct RankWorks {
  std::vector<RankWork> works;
  std::vector<int> of_rank;
};

// `schedules`: by rank; ranks that are alike may share one (FoldedSchedules), as its groups are found by their keys.
// Equal work is found wherever it stands, also in schedules that are not shared. Borrows the schedules.
RankWorks ReadWork(const GroupTable& groups, std::span<const Schedule* const> schedules, const Cluster& cluster,
                   const KernelTimes& times);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_SIMULATE_RANK_WORK_H_
