// A program that is run until it ends, but no longer than it may.
#ifndef PARTITA_RUN_SOLVER_LIMITED_PROCESS_H_
#define PARTITA_RUN_SOLVER_LIMITED_PROCESS_H_

#include <chrono>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace partita {

// What it wrote to standard output and standard error. `command`: program, looked for in PATH, and arguments; it reads
// nothing. kUnavailable: it does not start, is not over in time (it is killed then), or ends with a signal or an exit
// code other than 0. Thread-safe.
absl::StatusOr<std::string> RunLimited(const std::vector<std::string>& command, std::chrono::milliseconds limit);

}  // namespace partita

#endif  // PARTITA_RUN_SOLVER_LIMITED_PROCESS_H_
