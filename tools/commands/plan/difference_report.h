// The output of `plan --diff`: how a second strategy differs, and where the difference in time comes from.
#ifndef PARTITA_TOOLS_COMMANDS_PLAN_DIFFERENCE_REPORT_H_
#define PARTITA_TOOLS_COMMANDS_PLAN_DIFFERENCE_REPORT_H_

#include <string>

#include "partitioner/explain/plan_difference.h"

namespace partita {

// One of the two plans.
struct DifferingPlan {
  std::string name;  // where its strategy is from
  const PredictedPlan& plan;
};

// `full`: every node and move, else the first ones.
std::string DifferenceToText(const DifferingPlan& a, const DifferingPlan& b, const PlanDifference& difference,
                             bool full);
std::string DifferenceToJson(const DifferingPlan& a, const DifferingPlan& b, const PlanDifference& difference);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_PLAN_DIFFERENCE_REPORT_H_
