// What will run, as proto/plan.proto: from a program and a backend that plans, nothing is run.
#ifndef PARTITA_TOOLS_COMMANDS_OUTPUT_PLAN_PROTO_H_
#define PARTITA_TOOLS_COMMANDS_OUTPUT_PLAN_PROTO_H_

#include <string>

#include "absl/status/statusor.h"
#include "graph/ir/program.h"
#include "proto/plan.pb.h"
#include "runtime/api/backend/backend.h"

namespace partita {

// The same arguments give the same message. Errors are those of MakeSchedule, with the rank.
absl::StatusOr<PlanProto> MakePlan(const std::string& model, const Program& program, const Backend& backend);

// Tables for people.
std::string FormatPlan(const PlanProto& plan);

// A picture in Graphviz's language: the mesh and its groups; nodes with layouts, framed by phase; moves with their
// bytes.
std::string DrawPlan(const PlanProto& plan);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_OUTPUT_PLAN_PROTO_H_
