// Parses the answer of Cbc, COIN-OR's solver of integer programs (Debian's coinor-cbc, version 2.10).
#ifndef PARTITA_RUN_SOLVER_CBC_ANSWER_H_
#define PARTITA_RUN_SOLVER_CBC_ANSWER_H_

#include <string>

#include "absl/status/statusor.h"
#include "partitioner/search/placement/program_solver.h"

namespace partita {

// `log`: its standard output; `file`: what it wrote as the solution. kUnavailable: it could not read the program, or
// they say something else.
absl::StatusOr<ProgramSolution> ReadCbcAnswer(const std::string& log, const std::string& file);

}  // namespace partita

#endif  // PARTITA_RUN_SOLVER_CBC_ANSWER_H_
