// The largest gather of a plan that its strategy could avoid.
#ifndef PARTITA_RUN_PLAN_REPORT_GATHER_REPORT_H_
#define PARTITA_RUN_PLAN_REPORT_GATHER_REPORT_H_

#include "absl/status/status.h"
#include "graph/ir/program.h"
#include "proto/plan.pb.h"
#include "proto/run.pb.h"
#include "run/start.h"

namespace partita {

// Sets PlanProto::avoidable_gather of a plan of `program`, which `planned` compiles to. On a machine nothing is
// proposed that does not fit there or whose step is no shorter than the plan's.
absl::Status AddGather(const RunSpec& spec, const RunPlan& planned, const Program& program, PlanProto& plan);

}  // namespace partita

#endif  // PARTITA_RUN_PLAN_REPORT_GATHER_REPORT_H_
