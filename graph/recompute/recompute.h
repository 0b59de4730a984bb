// Keeps less from the forward pass for the backward pass: blocks of nodes are computed again (Chen et al., "Training
// deep nets with sublinear memory cost", 2016).
//
//   before   %a = relu(%x)   %b = matmul(%a, %w)   %c = relu(%b)   ...
//            phase backward   ...   %b@d = relu_grad(%c, %c@d)   %w@d = matmul(%a, %b@d)
//   after    %a = relu(%x)   %b = matmul(%a, %w)   %c = relu(%b)   ...
//            phase backward   ...   %b@d = relu_grad(%c, %c@d)   %a@again = relu(%x)   %w@d = matmul(%a@again, %b@d)
//                                                                          (block a, b, c; c is read outside of it)
//
// A value is kept if a node outside of its block reads it. Of the others, the pass repeats those that a backward node
// reads, and what they are made from in the block, right before the first backward node that reads one of them. They
// are the same nodes on the same values in the same layouts, so their results are bitwise identical. Micro-batches are
// blocks of their own.
//
// A move belongs to the block that reads its result, so that the value before the move is kept; a move that adds
// partial sums belongs to the block of the summands. Values from other ranks of an At, or from another mesh, are kept,
// because their sender does not wait for the backward pass of others. Updates of states are in no block: they happen
// once.
#ifndef PARTITA_GRAPH_RECOMPUTE_RECOMPUTE_H_
#define PARTITA_GRAPH_RECOMPUTE_RECOMPUTE_H_

#include <string_view>
#include <vector>

#include "graph/derive/strategy.h"
#include "graph/ir/graph.h"

namespace partita {

// The end of the names of what is computed again.
inline constexpr std::string_view kAgain = "@again";
inline bool IsComputedAgain(std::string_view name) { return name.ends_with(kAgain); }

// Runs on the final graph, fused and ordered, so that missing readers do not change which nodes are joined.
Graph Recompute(Graph graph, const std::vector<RecomputedBlock>& blocks);

}  // namespace partita

#endif  // PARTITA_GRAPH_RECOMPUTE_RECOMPUTE_H_
