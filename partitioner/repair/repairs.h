// Finds changes that make a plan fit if it needs more memory than there is: recomputed blocks, micro-batches, sharded
// optimizer state, combinations of these, larger replicas, more replicas. Each is compiled, its arena measured and its
// step simulated; nothing is guessed.
#ifndef PARTITA_PARTITIONER_REPAIR_REPAIRS_H_
#define PARTITA_PARTITIONER_REPAIR_REPAIRS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/derive/strategy.h"
#include "graph/ir/graph.h"
#include "graph/ir/program.h"
#include "graph/schedule/schedule.h"
#include "graph/timeline/timeline.h"

namespace partita {

// What a compiled strategy takes and needs.
struct Prediction {
  double seconds = 0;        // of a step
  int64_t memory_bytes = 0;  // of the fullest rank
  absl::Status fits;         // kResourceExhausted: what it needs and what there is
};

struct Repair {
  std::string change;  // "4 micro-batches", for display
  Strategy strategy;
  absl::Status status;       // why it is none: it does not fit either, or cannot be compiled
  double seconds = 0;        // 0: it was not compiled
  int64_t memory_bytes = 0;  // of the fullest rank
};

struct RepairRequest {
  const Graph& forward;      // the user's
  const Program& program;    // of the strategy
  const Strategy& strategy;  // that does not fit
  int most_ranks = 1;        // that there are
  std::function<absl::StatusOr<Prediction>(const Strategy&)> predict;
  // What the rank with the largest arena launches in a training step of the strategy, and when. Without them, and of a
  // strategy that computes blocks again by itself, no others are looked for.
  const Schedule* schedule = nullptr;
  const RankTimeline* timeline = nullptr;
};

// All changes that were tried: those that fit on the same number of ranks, the fastest first; those that fit on more;
// those that need too much, the nearest first; those that cannot be compiled. Of each kind only the first that fits is
// listed; of recomputed blocks, the fastest that fits, else those that need the least. Equal requests give equal lists.
std::vector<Repair> FindRepairs(const RepairRequest& request);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_REPAIR_REPAIRS_H_
