// Measures kernels and whole steps on this machine, in a session that really trains.
#ifndef PARTITA_TOOLS_COMMANDS_CALIBRATE_MEASURE_STEPS_H_
#define PARTITA_TOOLS_COMMANDS_CALIBRATE_MEASURE_STEPS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/derive/strategy.h"
#include "graph/ir/model.h"
#include "graph/make_program.h"
#include "partitioner/cost/compute_cost.h"
#include "runtime/api/session.h"

namespace partita {

// Of one signature.
struct MeasuredKernel {
  std::string op;
  KernelWork work;
  std::vector<double> seconds;  // of every launch of every rank and step
};
using MeasuredKernels = std::map<std::string, MeasuredKernel>;

struct MeasuredSteps {
  std::unique_ptr<Session> session;  // that has run them
  MeasuredKernels kernels;
  std::vector<double> hand_overs;  // HandOvers, of every rank and step
  double seconds = 0;              // of a step (SecondsOfStep); median
  double computing = 0;            // ranks that compute at a time, the mean over a step; median
};

// Of the training step that ran last, until the last launch of the last rank has ended. `session` records timelines.
double SecondsOfStep(const Session& session);

// Measures this number of training steps after a few untimed ones, on random batches (SyntheticBatches), because
// comparisons and selections among zeros take less time. Errors are those of programs and sessions; a step that is not
// applied is a step.
absl::StatusOr<MeasuredSteps> MeasureSteps(const Model& model, const Strategy& strategy, const ProgramOptions& program,
                                           const SessionOptions& session, int64_t steps);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_CALIBRATE_MEASURE_STEPS_H_
