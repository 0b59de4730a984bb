// The forward nodes of a plan by blocks, equal neighbours folded, with the time and the bytes of a step that each
// takes.
//
//   words  embedding  block1/norm  block1/query ... block12/down  norm  loss
//   words  embedding  block*/norm ... block*/down, 12 times       norm  loss
#ifndef PARTITA_RUN_PLAN_PAGE_PLAN_BLOCKS_H_
#define PARTITA_RUN_PLAN_PAGE_PLAN_BLOCKS_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "graph/ir/program.h"
#include "graph/timeline/timeline.h"

namespace partita {

// A forward node, or all that are equal in a repeated block: the same op, type, layout and work, and names that
// differ in digits or in parts of one letter.
struct BlockNode {
  std::string name;                // "block*/query" of several
  std::string op, type, layout;    // of the forward node; empty: what belongs to no node ("@iteration")
  double flops = 0;                // of one, over all ranks
  std::array<int64_t, 4> ns = {};  // of launches of its forward pass, backward pass, update, and its collectives
  int64_t wire_bytes = 0;          // that leave ranks for it in a step
  int64_t sum_ns() const { return ns[0] + ns[1] + ns[2] + ns[3]; }
};

struct PlanBlock {
  std::string name;  // "block1 ... block12", or what the names of its nodes begin with
  int times = 1;
  std::vector<BlockNode> nodes;  // sums over the repetitions
};

struct Repeat {
  size_t begin = 0, period = 1, times = 1;
};

// The repeats in a sequence of numbers, in its order, each of at least six numbers in all: the longest one, of equals
// that with the shortest period, then those before and after it. Takes n^2 for each that it finds.
std::vector<Repeat> FindRepeats(const std::vector<int>& sequence);

// `timeline`: a rank's, of the training step. Launches side by side both count.
std::vector<PlanBlock> BlocksOf(const Program& program, const RankTimeline& timeline);

}  // namespace partita

#endif  // PARTITA_RUN_PLAN_PAGE_PLAN_BLOCKS_H_
