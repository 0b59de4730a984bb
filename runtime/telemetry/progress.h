// The line that training prints every N steps.
#ifndef PARTITA_RUNTIME_TELEMETRY_PROGRESS_H_
#define PARTITA_RUNTIME_TELEMETRY_PROGRESS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace partita {

struct Progress {
  int64_t step = 0;
  double epoch = 0;  // passed so far, fractions included
  double loss = 0;
  double learning_rate = 0;
  double samples_per_s = 0;
  double step_ms = 0;
  int64_t memory_bytes = 0;                                  // of the rank that uses most
  int64_t memory_limit = 0;                                  // of that rank; 0: none, omitted
  std::vector<std::pair<std::string, double>> metrics = {};  // those of the graph, by name
  std::optional<double> gradient_norm = {};                  // before clipping; none: steps do not report it
};

// "step=120 epoch=0.31 loss=2.301 accuracy=0.62 lr=1e-3 samples/s=812 step_ms=39.4 mem=7.9/141GiB"; behind the loss
// come the metrics; the unit of mem is that of its larger number. Each key=value without spaces, the same in any
// locale, so that a line can be split by anyone.
std::string FormatProgress(const Progress& progress);

// "7.9GiB", "512MiB", "3KiB", "17B": three significant digits at most.
std::string FormatBytes(int64_t bytes);

}  // namespace partita

#endif  // PARTITA_RUNTIME_TELEMETRY_PROGRESS_H_
