// How long kernels take on this machine, in steps of a program that really runs.
#ifndef PARTITA_TOOLS_COMMANDS_CALIBRATE_MEASURE_KERNELS_H_
#define PARTITA_TOOLS_COMMANDS_CALIBRATE_MEASURE_KERNELS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/program.h"
#include "partitioner/cost/compute_cost.h"
#include "runtime/api/rank/session_options.h"

namespace partita {

// Of one signature.
struct MeasuredKernel {
  KernelWork work;
  std::vector<double> seconds;  // of every launch of every rank and step
};
using MeasuredKernels = std::map<std::string, MeasuredKernel>;

// So many training steps, and before them a few that nobody times; inputs are zeros. Errors are the session's; a step
// that is not applied is a step.
absl::StatusOr<MeasuredKernels> MeasureKernels(Program program, const SessionOptions& options, int64_t steps);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_CALIBRATE_MEASURE_KERNELS_H_
