// Saves and loads a model with a given size of states, and measures the memory that this takes and whether all of it
// was restored.
#ifndef PARTITA_TOOLS_BENCHMARKS_TRAIN_LARGE_CHECKPOINT_H_
#define PARTITA_TOOLS_BENCHMARKS_TRAIN_LARGE_CHECKPOINT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace partita {

struct LargeCheckpointOptions {
  int64_t state_bytes = int64_t{4} << 30;  // at least; a ResNet-50, as wide as that takes, by Adam
  int threads = 2;
  std::string folder;  // on the disk that is to be used; what is put there is removed
};

struct LargeCheckpoint {
  struct Phase {
    std::string what;  // "train", which is one step, "save", "load"
    double seconds = 0;
    int64_t peak_bytes = 0;  // the most that the process had
  };

  // One and a half times the states: besides them only the gradients, and no copy of either.
  bool fits() const;

  int64_t state_bytes = 0;
  int64_t planned_bytes = 0;  // of the rank, with gradients and what the step computes
  std::vector<Phase> phases;
  bool same = false;  // what was loaded gives the same file again
};

absl::StatusOr<LargeCheckpoint> MeasureLargeCheckpoint(const LargeCheckpointOptions& options);

std::string ToText(const LargeCheckpoint& measured);
std::string ToJson(const LargeCheckpoint& measured);

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_TRAIN_LARGE_CHECKPOINT_H_
