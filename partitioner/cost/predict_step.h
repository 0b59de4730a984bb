// What a step of all ranks is predicted to take and to need on a cluster: what an oracle is graded by.
#ifndef PARTITA_PARTITIONER_COST_PREDICT_STEP_H_
#define PARTITA_PARTITIONER_COST_PREDICT_STEP_H_

#include <cstdint>
#include <vector>

#include "graph/ir/program.h"
#include "graph/schedule/schedule.h"
#include "partitioner/cluster/cluster.h"
#include "partitioner/cost/compute_cost.h"

namespace partita {

// Of each the most of any rank.
struct StepPrediction {
  double step = 0;           // seconds
  double compute = 0;        // of it: kernels and copies
  double communication = 0;  // collectives
  int64_t memory_bytes = 0;  // of the arena
};

// By sums of what each rank launches (CostOfStep). `times`: measured kernels. The cluster has a device for each rank.
StepPrediction PredictStep(const Program& program, const std::vector<Schedule>& schedules, const Cluster& cluster,
                           const KernelTimes& times);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_COST_PREDICT_STEP_H_
