// The planned memory of a trainer process on the host, without its data sets.
#ifndef PARTITA_TOOLS_COMMANDS_MEMORY_PLANNED_PROCESS_H_
#define PARTITA_TOOLS_COMMANDS_MEMORY_PLANNED_PROCESS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "graph/ir/program.h"
#include "graph/schedule/schedule.h"

namespace partita {

struct PlannedProcess {
  int64_t arenas = 0;   // of its ranks
  int64_t batches = 0;  // that are made ahead
  int64_t program = 0;  // code, and what is compiled and bound

  int64_t total() const { return arenas + batches + program; }
};

// The memory of the process with these ranks, whose arenas take `arenas` bytes. `train`, `evaluate`: the schedules of
// all ranks.
PlannedProcess PlanProcess(const Program& program, const std::vector<Schedule>& train,
                           const std::vector<Schedule>& evaluate, std::span<const int> ranks, int64_t arenas);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_MEMORY_PLANNED_PROCESS_H_
