// Assigns every storage its offset in the arena.
//
//   | states, in the program's order | staged inputs | transients: activations, buckets, workspace, temporaries |
//
// States have the same offsets in every entry point of a program. Transients share bytes where their lifetimes (in
// program order) do not meet.
#ifndef PARTITA_GRAPH_PLAN_MEMORY_PLAN_H_
#define PARTITA_GRAPH_PLAN_MEMORY_PLAN_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/plan/storage.h"

namespace partita {

struct MemoryOptions {
  int64_t limit = 0;        // bytes of the arena; 0: none
  int64_t guard_bytes = 0;  // left free after every storage, and before the first
  bool reuse = true;        // false: no two storages share a byte, so that a test can see which launch wrote where
  // For this number of launches, freed bytes are not reused, because the next owner would have to wait for the last
  // user: after any launch (more than one compute stream), and after a collective.
  int linger = 0;
  int linger_after_collective = 8;
};

struct MemoryPlan {
  std::vector<int64_t> offsets;  // by storage
  MemoryUse use;
};

// Bytes that are needed from `first` to `last` (both included).
struct Interval {
  int64_t bytes = 0;
  int first = 0;
  int last = 0;
};

struct Packing {
  std::vector<int64_t> offsets;  // multiples of kAlignment
  int64_t bytes = 0;             // the largest end of an interval with its gap
};

// Offsets such that intervals that meet in time share no byte, and none comes closer than `gap` bytes after another.
// The better of two: best fit in the order of `first` (n log n), and, while the number of intervals is moderate,
// largest first (Pisarchyk and Lee, "Efficient memory management for deep neural net inference", 2020, section 4.3).
Packing Pack(const std::vector<Interval>& intervals, int64_t gap);

// kResourceExhausted if the arena would be larger than options.limit: what is needed, the largest tensors, and what
// would help.
absl::StatusOr<MemoryPlan> PlanMemory(const std::vector<Storage>& storages, const MemoryOptions& options);

}  // namespace partita

#endif  // PARTITA_GRAPH_PLAN_MEMORY_PLAN_H_
