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
  int replicas = 2;        // so many are measured together at least, however few ranks there are
  // All kinds, threads and processes, among 2 and each divisor of the ranks; else only how two threads find each other.
  bool collectives = true;
  std::function<void(const std::string&)> progress = [](const std::string&) {};  // what is measured next, for people
};

// Everything but its key and its time. `strategies`: at least one, all of as many ranks (CHECKed).
//
// What ranks lose that share cores is measured by replicas of the graph, with 1, 2, 4, ... of them, as many as there
// are ranks, each with as many threads as a rank of all has. It is taken from whole steps, in which they have the whole
// batch among them (StretchOf), and what was measured of each kernel of all strategies is stretched as far; replicas of
// as many samples each as a rank of all has, whose kernels have the same shapes, say how many times as long as one that
// is alone they take. A kernel that outlasts its rank's slice of time is itself seen to take longer, the more ranks
// compute meanwhile: those of a strategy whose ranks wait for each other are told as they would be beside replicas, by
// how many compute at a time in the mean over a step. How late a stream goes on that has waited for another one is
// taken from the steps of all strategies (HandOvers, MiddleMean). Ranks wait for each other in collectives as those of
// a session of as many do: they spin or sleep (SpinOf). Errors are those of programs and sessions; kInvalidArgument: a
// graph that computes nothing.
absl::StatusOr<Profile> MeasureMachine(const Model& model, std::span<const Strategy> strategies,
                                       const CalibrationOptions& options);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_CALIBRATE_MEASURE_MACHINE_H_
