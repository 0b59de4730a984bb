// A strategy that fits the machine: as it is, or repaired.
#ifndef PARTITA_RUN_PLAN_REPORT_FITTING_STRATEGY_H_
#define PARTITA_RUN_PLAN_REPORT_FITTING_STRATEGY_H_

#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/derive/strategy.h"
#include "graph/ir/model.h"
#include "partitioner/predict/predicted_plan.h"
#include "proto/run.pb.h"
#include "run/plan/machine.h"

namespace partita {

struct FittingStrategy {
  Strategy strategy;
  std::vector<std::string> reasons;  // why it was changed; empty: it fits as it is
};

// `plan`: of the strategy. Prints what does not fit to `out`, with the cost and gain of each repair. With --repair the
// best one that fits is applied. Otherwise, or if none fits, kResourceExhausted names what is lacking.
absl::StatusOr<FittingStrategy> FittingStrategyOf(const RunSpec& spec, const Model& model, const Machine& machine,
                                                  const Strategy& strategy, const PredictedPlan& plan,
                                                  std::ostream& out);

}  // namespace partita

#endif  // PARTITA_RUN_PLAN_REPORT_FITTING_STRATEGY_H_
