// Cbc as a child process: the solver of --solver=cbc.
#ifndef PARTITA_RUN_SOLVER_CBC_H_
#define PARTITA_RUN_SOLVER_CBC_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "partitioner/search/placement/program_solver.h"

namespace partita {

// Solves each program within a time limit in seconds, in its own temporary folder. The result at the limit depends on
// the machine. kUnavailable: the command `cbc` is not installed, or, from a solver, it fails.
absl::StatusOr<ProgramSolver> CbcSolver(int64_t seconds);

}  // namespace partita

#endif  // PARTITA_RUN_SOLVER_CBC_H_
