// A profile of this machine, by a graph and strategies: the kernels that they launch, collectives, ranks that share
// cores.
#ifndef PARTITA_TOOLS_COMMANDS_CALIBRATE_MEASURE_MACHINE_H_
#define PARTITA_TOOLS_COMMANDS_CALIBRATE_MEASURE_MACHINE_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "graph/derive/strategy.h"
#include "graph/ir/model.h"
#include "graph/make_program.h"
#include "partitioner/profile/profile.h"
#include "runtime/api/rank/session_options.h"

namespace partita {

struct CalibrationOptions {
  ProgramOptions program;
  SessionOptions session;  // of ranks that are threads of this process, on the host
  int64_t steps = 30;      // that each program is timed in
  int replicas = 2;        // least number measured together, even for fewer ranks
  // All kinds, threads and processes, among 2 and each divisor of the ranks; else only how two threads find each other.
  bool collectives = true;
  // Reports the next measurement to the user.
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

// Everything but its key and its time. `strategies`: at least one, all of as many ranks (CHECKed).
//
// What ranks lose that share cores is measured by replicas of the graph, with 1, 2, 4, ... of them, as many as there
// are ranks, each with as many threads as a rank of all has. The loss follows from whole steps in which the ranks share
// the whole batch (StretchOf), and the measured time of each kernel of all strategies is stretched by it. Replicas with
// as many samples each as a rank of all has, whose kernels have the same shapes, show how many times as long they take
// as one alone. A kernel that outlasts its rank's time slice itself appears longer, the more ranks compute meanwhile.
// Kernels of a strategy whose ranks wait for each other are therefore scaled to the number of ranks that compute at a
// time, in the mean over a step. The delay before a stream resumes after waiting for another one is taken from the
// steps of all strategies (HandOvers, MiddleMean). Ranks wait for each other in collectives as those of a session of as
// many do: they spin or sleep (SpinOf). Errors are those of programs and sessions; kInvalidArgument: a graph that
// computes nothing.
absl::StatusOr<Profile> MeasureMachine(const Model& model, std::span<const Strategy> strategies,
                                       const CalibrationOptions& options);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_CALIBRATE_MEASURE_MACHINE_H_
