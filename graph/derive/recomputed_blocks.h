// Finds the nodes of the blocks that a strategy recomputes (Strategy::recompute).
#ifndef PARTITA_GRAPH_DERIVE_RECOMPUTED_BLOCKS_H_
#define PARTITA_GRAPH_DERIVE_RECOMPUTED_BLOCKS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graph/derive/strategy.h"

namespace partita {

// Finds blocks by the names of nodes as StrategyIndex finds entries. Thread-compatible.
class RecomputedBlocks {
 public:
  explicit RecomputedBlocks(const std::vector<RecomputedBlock>& blocks);
  RecomputedBlocks(const RecomputedBlocks&) = delete;
  RecomputedBlocks& operator=(const RecomputedBlocks&) = delete;

  // The first block that matches the user's name; -1: none does.
  int BlockOf(const std::string& name) const;

  // kInvalidArgument: a pattern that names no node of the user's graph (did you mean), or too many patterns: each
  // comparison is subtracted from `comparisons`, which must not fall below 0.
  absl::Status Check(const Graph& forward, int64_t& comparisons) const;

 private:
  Strategy patterns_;          // an entry for each
  std::vector<int> block_of_;  // by entry
  StrategyIndex index_;
};

}  // namespace partita

#endif  // PARTITA_GRAPH_DERIVE_RECOMPUTED_BLOCKS_H_
