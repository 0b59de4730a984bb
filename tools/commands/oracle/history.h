// Predicted and measured times of runs, one line of JSON for each run (docs/reference/outputs.md 4).
#ifndef PARTITA_TOOLS_COMMANDS_ORACLE_HISTORY_H_
#define PARTITA_TOOLS_COMMANDS_ORACLE_HISTORY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace partita {

// Seconds, or bytes.
struct GradedTerm {
  std::string
      kind;  // "step", "compute", "communication", "memory", or of launches (partitioner/explain/kind_seconds.h)
  double predicted = 0;
  double measured = 0;  // greater than 0

  double error() const;  // relative to the measured value
};

struct GradedRun {
  std::string time, model, strategy, device, cluster, revision;
  int64_t steps = 0;
  std::vector<GradedTerm> terms;
};

// Without a newline.
std::string ToLine(const GradedRun& run);

// kInvalidArgument: `source`, the number of the line, and of what it says the field. Empty lines are none.
absl::StatusOr<std::vector<GradedRun>> ParseHistory(const std::string& text, const std::string& source);
absl::StatusOr<std::vector<GradedRun>> LoadHistory(const std::string& path);

// At the end of the file, which is made where there is none, with its folder; in one write, so that runs that end at
// once do not mix. kInvalidArgument or kResourceExhausted: it cannot be written.
absl::Status AppendRun(const std::string& path, const GradedRun& run);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_ORACLE_HISTORY_H_
