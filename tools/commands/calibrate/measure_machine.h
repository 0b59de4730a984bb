// A profile of this machine, by a graph and a strategy: the kernels that they launch, collectives, ranks that share
// cores.
#ifndef PARTITA_TOOLS_COMMANDS_CALIBRATE_MEASURE_MACHINE_H_
#define PARTITA_TOOLS_COMMANDS_CALIBRATE_MEASURE_MACHINE_H_

#include <cstdint>

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
};

// Everything but its key and its time. Cores that ranks share are measured by replicas of the graph: with 1, 2, 4, ...
// of them, as many as the strategy has ranks (2 at least), each computes what one that is alone does. Errors are those
// of programs and sessions; kInvalidArgument: a graph that computes nothing.
absl::StatusOr<Profile> MeasureMachine(const Model& model, const Strategy& strategy, const CalibrationOptions& options);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_CALIBRATE_MEASURE_MACHINE_H_
