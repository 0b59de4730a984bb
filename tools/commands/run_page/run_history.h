// What the lines of a training run (docs/reference/outputs.md 7) have said so far.
#ifndef PARTITA_TOOLS_COMMANDS_RUN_PAGE_RUN_HISTORY_H_
#define PARTITA_TOOLS_COMMANDS_RUN_PAGE_RUN_HISTORY_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/train/metrics.h"

namespace partita {

// A line of steps or of an evaluation; a number that it has not, or that is not finite, is not a number.
struct RecordedLine {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  int64_t step = 0;
  double epoch = 0, loss = kNone;
  Metrics metrics;
  // Of steps alone.
  double learning_rate = kNone, gradient_norm = kNone, samples_per_second = kNone, step_seconds = kNone;
};

// Takes bounded memory: beyond kMostLines, two neighbours become one with the means of both.
class RunHistory {
 public:
  static constexpr size_t kMostLines = 1024;

  // Lines that are no JSON, or of an unknown event, are skipped.
  void Add(const std::string& line);
  // The lines of a file of --metrics up to `step`: of the run that this one resumes. A file that is not there has none.
  void AddEarlier(const std::string& path, int64_t step);

  const std::vector<RecordedLine>& steps() const { return steps_; }
  const std::vector<RecordedLine>& evaluations() const { return evaluations_; }

  int64_t step = 0;           // done so far
  int64_t planned_steps = 0;  // at which the run ends
  int64_t batch = 0;          // samples of a step
  int64_t skipped = 0;
  std::string time;                    // of the last line
  std::optional<std::string> outcome;  // none: the run has not ended
  std::string error;                   // why it ended early; empty: it did not

 private:
  std::vector<RecordedLine> steps_, evaluations_;
};

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_RUN_PAGE_RUN_HISTORY_H_
