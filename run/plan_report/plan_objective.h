// A plan's value of the objective that chose it, or that the user asked about.
#ifndef PARTITA_RUN_PLAN_REPORT_PLAN_OBJECTIVE_H_
#define PARTITA_RUN_PLAN_REPORT_PLAN_OBJECTIVE_H_

#include <string>

#include "absl/status/statusor.h"
#include "partitioner/choose/objective.h"
#include "proto/plan.pb.h"

namespace partita {

// kInvalidArgument: as ValueOf.
absl::StatusOr<PlanObjectiveProto> ObjectiveToProto(const Objective& objective, const PlanFigures& figures);

// One line, with what the value is made of.
std::string FormatObjective(const PlanObjectiveProto& objective);

}  // namespace partita

#endif  // PARTITA_RUN_PLAN_REPORT_PLAN_OBJECTIVE_H_
