// The planned memory of a trainer process on the host, without its data sets.
#ifndef PARTITA_RUN_PLAN_PLANNED_PROCESS_H_
#define PARTITA_RUN_PLAN_PLANNED_PROCESS_H_

#include <cstdint>
#include <span>

#include "graph/ir/program.h"

namespace partita {

struct PlannedProcess {
  int64_t arenas = 0;   // of its ranks
  int64_t batches = 0;  // that are made ahead
  int64_t program = 0;  // code, and what is compiled and bound

  int64_t total() const { return arenas + batches + program; }
};

// The memory of the process with these ranks, which have `launches` in a training step and arenas of `arenas` bytes.
PlannedProcess PlanProcess(const Program& program, std::span<const int> ranks, int64_t launches, int64_t arenas);

}  // namespace partita

#endif  // PARTITA_RUN_PLAN_PLANNED_PROCESS_H_
