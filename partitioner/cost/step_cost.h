// How much a rank does in a step on a cluster, one launch after the other; what runs side by side, and who waits, is
// known to partitioner/simulate.
#ifndef PARTITA_PARTITIONER_COST_STEP_COST_H_
#define PARTITA_PARTITIONER_COST_STEP_COST_H_

#include <span>
#include <vector>

#include "absl/status/status.h"
#include "graph/ir/program.h"
#include "graph/schedule/schedule.h"
#include "partitioner/cluster/cluster.h"
#include "partitioner/cost/compute_cost.h"

namespace partita {

// Sums: what runs beside something else on another stream, and waiting for other ranks, are not in them.
struct StepCost {
  double compute = 0;        // seconds of kernels and copies
  double communication = 0;  // of collectives
};

// `times`: measured kernels; what is not in them takes the roofline's time. All groups along the same axes communicate
// at the same time. The cluster has a device for each rank (CheckRanks).
StepCost CostOfStep(const Program& program, const Schedule& schedule, const Cluster& cluster,
                    const KernelTimes& times = {});

// kResourceExhausted: ranks need more memory than their device, or the cores that they share, have; with the ranks.
// `schedules`: by rank; ranks that are alike may share one (FoldedSchedules).
absl::Status CheckFits(std::span<const Schedule* const> schedules, const Cluster& cluster);
absl::Status CheckFits(const std::vector<Schedule>& schedules, const Cluster& cluster);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_COST_STEP_COST_H_
