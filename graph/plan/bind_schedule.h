// The last step to a schedule but its order: tensors get their addresses (offsets in the arena), and launches, states,
// inputs, results and values say where they lie.
#ifndef PARTITA_GRAPH_PLAN_BIND_SCHEDULE_H_
#define PARTITA_GRAPH_PLAN_BIND_SCHEDULE_H_

#include "graph/ir/program.h"
#include "graph/plan/memory_plan.h"
#include "graph/plan/storage.h"
#include "graph/schedule/local_program.h"
#include "graph/schedule/localize.h"
#include "graph/schedule/schedule.h"

namespace partita {

// `memory` has a place for each of `storage`'s. The schedule has no streams and no waits yet; each launch has its
// accesses.
Schedule BindSchedule(const Program& program, const Graph& entry, int rank, LocalGraph local, LocalProgram lowered,
                      const StoragePlan& storage, const MemoryPlan& memory);

}  // namespace partita

#endif  // PARTITA_GRAPH_PLAN_BIND_SCHEDULE_H_
