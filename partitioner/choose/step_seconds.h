// How long a step of a compiled plan takes: the one place that decides between finalists.
#ifndef PARTITA_PARTITIONER_CHOOSE_STEP_SECONDS_H_
#define PARTITA_PARTITIONER_CHOOSE_STEP_SECONDS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/program.h"
#include "graph/schedule/schedule.h"
#include "partitioner/cluster/cluster.h"
#include "partitioner/cost/compute_cost.h"

namespace partita {

// `schedules`: of all ranks, in their order.
absl::StatusOr<double> StepSeconds(const Program& program, const std::vector<Schedule>& schedules,
                                   const Cluster& cluster, const KernelTimes& times);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_CHOOSE_STEP_SECONDS_H_
