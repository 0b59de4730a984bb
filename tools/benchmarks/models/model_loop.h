// The process that `benchmark models` starts for each session, so that each one's memory is measured alone: it trains
// as the lines of its input say (tools/benchmarks/timed_process.h).
//
//   20       trains 20 steps; answers with their seconds
//   warm 20  the same; LoopFacts say nothing of these steps
//   facts    answers with LoopFacts, as JSON
//
// As `trainer train` it gives pictures as bytes, and records each step of several ranks on the host.
#ifndef PARTITA_TOOLS_BENCHMARKS_MODELS_MODEL_LOOP_H_
#define PARTITA_TOOLS_BENCHMARKS_MODELS_MODEL_LOOP_H_

#include <cstdint>
#include <istream>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "run/plan/machine.h"
#include "tools/benchmarks/models/model_case.h"
#include "tools/commands/oracle/history.h"

namespace partita {

// Of a session and its ranks.
struct LoopFacts {
  std::string device;  // "host", or the GPU's name
  std::string mesh;    // "data:2 model:2"
  int64_t ranks = 1;
  int64_t threads_per_rank = 1;
  int64_t planned_bytes = 0, used_bytes = 0;  // of the arenas of all ranks
  int64_t planned_process_bytes = 0;  // of this whole process on the host, with the batches that lie ready; 0: a GPU's
  double step_seconds = 0;            // mean over the steps that count
  double communication_seconds = 0, exposed_seconds = 0;  // of a step; means over the ranks and the same steps
  GradedRun graded;  // of the same steps, as a history keeps it; without terms: there is none
};

// The flags of `benchmark loop` that ask for this case.
std::vector<std::string> LoopFlags(const ModelCase& measured);

// Runs until `in` ends. With a machine, each step that counts is compared with its predicted time there.
absl::Status RunModelLoop(const ModelCase& measured, const std::optional<Machine>& machine, std::istream& in,
                          std::ostream& out);

// kInternal: not what the loop answers to `facts`.
absl::StatusOr<LoopFacts> ParseLoopFacts(const std::string& json);

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_MODELS_MODEL_LOOP_H_
