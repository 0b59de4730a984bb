// Whether a save that fails loses anything: the disk is full at one of its operations, or the process and then the
// power end there.
#ifndef PARTITA_TOOLS_BENCHMARKS_CHAOS_SAVE_FAULTS_H_
#define PARTITA_TOOLS_BENCHMARKS_CHAOS_SAVE_FAULTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/benchmarks/chaos/tally.h"

namespace partita {

struct SaveFaults {
  Tally full, ended;                // the disk was full; the process ended
  int64_t old_ones = 0, fresh = 0;  // which checkpoint was the newest afterwards
  std::vector<std::string> breaches;

  int64_t count() const { return full.count + ended.count; }
};

// Saves over a checkpoint, in a folder that is made and removed, with faults, operations and losses drawn from the
// seed. A breach: no checkpoint remains, or one that is bitwise identical neither to the previous nor to the new one;
// or the save after a full disk fails.
absl::StatusOr<SaveFaults> FailSaves(const std::string& folder, int64_t count, uint64_t seed);

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_CHAOS_SAVE_FAULTS_H_
