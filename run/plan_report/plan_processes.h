// The memory of whole processes in a plan.
#ifndef PARTITA_RUN_PLAN_REPORT_PLAN_PROCESSES_H_
#define PARTITA_RUN_PLAN_REPORT_PLAN_PROCESSES_H_

#include <span>

#include "graph/ir/program.h"
#include "graph/schedule/schedule.h"
#include "proto/plan.pb.h"
#include "runtime/api/backend/backend.h"

namespace partita {

// `plan` has the memory of all ranks already; `train`: by rank, their schedules. On a GPU nothing is said.
void AddProcesses(const Program& program, const Backend& backend, std::span<const Schedule* const> train,
                  PlanProto& plan);

}  // namespace partita

#endif  // PARTITA_RUN_PLAN_REPORT_PLAN_PROCESSES_H_
