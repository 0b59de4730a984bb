// A strategy compiled and predicted for a machine.
#ifndef PARTITA_RUN_PLAN_PREDICTED_PLAN_H_
#define PARTITA_RUN_PLAN_PREDICTED_PLAN_H_

#include "absl/status/statusor.h"
#include "graph/derive/strategy.h"
#include "graph/ir/model.h"
#include "partitioner/predict/predicted_plan.h"
#include "proto/run.pb.h"
#include "run/plan/machine.h"

namespace partita {

// With the arenas and the step that a run on the machine would have. kUnavailable, with exit code 7: no such device can
// be planned for here.
absl::StatusOr<PredictedPlan> PredictedPlanOf(const RunSpec& spec, const Model& model, const Machine& machine,
                                              const Strategy& strategy);

}  // namespace partita

#endif  // PARTITA_RUN_PLAN_PREDICTED_PLAN_H_
