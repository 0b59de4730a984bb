// The predicted time and memory of a step of all ranks on a cluster, with which runs are compared.
#ifndef PARTITA_PARTITIONER_SIMULATE_STEP_PREDICTION_H_
#define PARTITA_PARTITIONER_SIMULATE_STEP_PREDICTION_H_

#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "graph/ir/program.h"
#include "graph/schedule/schedule.h"
#include "graph/timeline/step_times.h"
#include "partitioner/cluster/cluster.h"
#include "partitioner/cost/compute_cost.h"
#include "partitioner/simulate/simulate.h"

namespace partita {

// Of each the most of any rank.
StepTimes MostOfAnyRank(const SimulatedStep& step);

// Of each the most of any rank: seconds as of StepTimes, waiting for peers included.
struct StepPrediction {
  double step = 0;
  double compute = 0;
  double communication = 0;
  int64_t memory_bytes = 0;  // of the arena
  SimulatedStep simulated;   // of launches of the schedules
};

// Simulated. `schedules`: by rank; alike ranks may share one (FoldedSchedules). `times`: measured kernels. Errors are
// those of Simulate.
absl::StatusOr<StepPrediction> StepPredictionOf(const Program& program, std::span<const Schedule* const> schedules,
                                                const Cluster& cluster, const KernelTimes& times);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_SIMULATE_STEP_PREDICTION_H_
