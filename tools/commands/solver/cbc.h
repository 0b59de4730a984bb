// Cbc as a child process: the solver of --solver=cbc.
#ifndef PARTITA_TOOLS_COMMANDS_SOLVER_CBC_H_
#define PARTITA_TOOLS_COMMANDS_SOLVER_CBC_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "partitioner/search/placement/program_solver.h"

namespace partita {

// Solves each program in at most so many seconds, in a folder of its own among temporary files. What it has then
// depends on the machine. kUnavailable: the command `cbc` is not here; of a solver, too: it fails.
absl::StatusOr<ProgramSolver> CbcSolver(int64_t seconds);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_SOLVER_CBC_H_
