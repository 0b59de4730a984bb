// A compiled strategy and its prediction on a cluster: the time of a step, and whether it fits. Searches compare
// finalists by it, explanations describe it, and repairs are judged by it.
#ifndef PARTITA_PARTITIONER_PREDICT_PREDICTED_PLAN_H_
#define PARTITA_PARTITIONER_PREDICT_PREDICTED_PLAN_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "graph/derive/strategy.h"
#include "graph/ir/kernel_catalogue.h"
#include "graph/ir/model.h"
#include "graph/ir/op_definition.h"
#include "graph/make_program.h"
#include "graph/make_schedule.h"
#include "partitioner/cluster/cluster.h"
#include "partitioner/cost/compute_cost.h"
#include "partitioner/simulate/simulate.h"

namespace partita {

// What plans are compiled for. Borrowed.
struct PlanBasis {
  const Model& model;
  const OpRegistry& registry;
  const Cluster& cluster;
  const KernelTimes& times;  // as measured
  const KernelCatalogue& kernels;
  ProgramOptions program = {};
  ScheduleOptions schedule = {};  // memory_limit: a limit per rank in addition to the device's memory; 0: none
};

// Moved, never copied: the step's launches are those of `train`.
struct PredictedPlan {
  PredictedPlan() = default;
  PredictedPlan(PredictedPlan&&) = default;
  PredictedPlan& operator=(PredictedPlan&&) = default;

  Program program;
  FoldedSchedules train;  // of a training step
  SimulatedStep step;
  double compute_seconds = 0;  // of the step, on the rank that computes longest
  MemoryUse memory;            // of the rank with the largest arena, in which training and evaluation run
  // kResourceExhausted: a rank, or what shares a memory, needs more than there is.
  absl::Status fits;
};

// Compiles the strategy and simulates a training step, also of what does not fit: the arenas are then as large as they
// must be. Errors are those of MakeProgram, MakeFoldedSchedules and Simulate.
absl::StatusOr<PredictedPlan> PredictPlan(const PlanBasis& basis, const Strategy& strategy);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_PREDICT_PREDICTED_PLAN_H_
