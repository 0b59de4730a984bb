// A step of a plan on a cluster where nothing was measured, for the tables.
#ifndef PARTITA_TESTS_PARTITIONER_PAPERS_TABLES_SIMULATED_STEP_H_
#define PARTITA_TESTS_PARTITIONER_PAPERS_TABLES_SIMULATED_STEP_H_

#include "absl/status/statusor.h"
#include "graph/derive/strategy.h"
#include "graph/ir/model.h"
#include "graph/timeline/step_times.h"
#include "partitioner/cluster/cluster.h"

namespace partita {

// As it is compiled for the host and simulated, by the roofline: of each the most of any rank. Errors are those of
// PredictPlan; whether it fits is not asked.
absl::StatusOr<StepTimes> SimulatedStepOf(const Model& model, const Strategy& strategy, const Cluster& cluster);

}  // namespace partita

#endif  // PARTITA_TESTS_PARTITIONER_PAPERS_TABLES_SIMULATED_STEP_H_
