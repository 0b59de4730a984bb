// The memory of whole processes in a plan.
#ifndef PARTITA_TOOLS_COMMANDS_OUTPUT_PLAN_PROCESSES_H_
#define PARTITA_TOOLS_COMMANDS_OUTPUT_PLAN_PROCESSES_H_

#include <vector>

#include "graph/ir/program.h"
#include "graph/schedule/schedule.h"
#include "proto/plan.pb.h"
#include "runtime/api/backend/backend.h"

namespace partita {

// `plan` has the memory of all ranks already; `train` and `evaluate` are their schedules. On a GPU nothing is said.
void AddProcesses(const Program& program, const Backend& backend, const std::vector<Schedule>& train,
                  const std::vector<Schedule>& evaluate, PlanProto& plan);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_OUTPUT_PLAN_PROCESSES_H_
