// The cases of `benchmark comm`: every collective, in and out of place, and the moves built on them.
#ifndef PARTITA_TOOLS_BENCHMARKS_COMM_COMM_CASES_H_
#define PARTITA_TOOLS_BENCHMARKS_COMM_COMM_CASES_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tools/benchmarks/comm/comm_ranks.h"

namespace partita {

struct CommCase {
  std::string name;
  bool in_place = false;
  double bus_factor = 1;  // bus bandwidth over algorithm bandwidth (as nccl-tests define it)
  // `count`: elements of the full buffer, which the ranks divide evenly.
  std::function<absl::Status(CommRank&, int64_t count)> enqueue;
  int64_t least_count = 0;  // elements of the smallest one

  // Of an exchange: how large it can be.
  int64_t most_bytes = std::numeric_limits<int64_t>::max();
};

// In a group of this number of ranks. Exchanges need buffers five times as large as their bytes, and
// World::moves_blocks.
std::vector<CommCase> Collectives(int ranks);
std::vector<CommCase> Exchanges(int ranks);

// As many elements as an exchange moves, in one piece.
absl::Status CopyPlainly(CommRank& rank, int64_t count);

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_COMM_COMM_CASES_H_
