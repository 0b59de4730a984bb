// The interface of integer-program solvers: the caller of a search starts one as a separate program.
#ifndef PARTITA_PARTITIONER_SEARCH_PLACEMENT_PROGRAM_SOLVER_H_
#define PARTITA_PARTITIONER_SEARCH_PLACEMENT_PROGRAM_SOLVER_H_

#include <functional>
#include <map>
#include <string>

#include "absl/status/statusor.h"

namespace partita {

struct ProgramSolution {
  std::map<std::string, double> values;  // of variables that are not 0; empty: it found none
  double lower_bound = 0;                // the objective of no values is smaller
  bool proven = false;                   // these are the best, or, where there are none, that there cannot be any
};

// Makes the objective of a program in the LP format as small as it can in its time. An error says why it has no answer.
using ProgramSolver = std::function<absl::StatusOr<ProgramSolution>(const std::string& program)>;

}  // namespace partita

#endif  // PARTITA_PARTITIONER_SEARCH_PLACEMENT_PROGRAM_SOLVER_H_
