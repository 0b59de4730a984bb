// The kinds of moves: linear data movements between two layouts of one value (graph/moves/move_ops.h). Code asks for a
// move by its kind; its name is for graphs in text.
#ifndef PARTITA_GRAPH_IR_MOVE_KIND_H_
#define PARTITA_GRAPH_IR_MOVE_KIND_H_

#include <cstdint>

namespace partita {

enum class MoveKind : uint8_t {
  kAllReduce,      // P -> R
  kAllGather,      // S -> R
  kReduceScatter,  // P -> S
  kBroadcast,      // At -> R
  kSumReduce,      // P -> At
  kSend,           // At -> At
  kGather,         // S -> At
  kScatter,        // At -> S
  kSlice,          // R -> S
  kDrop,           // R -> At
  kZeroExtend,     // R, S or At -> P
  kRepartition,    // any without P -> any other without P
  kReshard,        // the same, from one mesh to another
  kHalo,           // S -> S by windows
  kHaloAdjoint,    // the way back, summed
};

// Every rank has what it needs and takes its part of it.
constexpr bool StaysOnRanks(MoveKind kind) {
  return kind == MoveKind::kSlice || kind == MoveKind::kDrop || kind == MoveKind::kZeroExtend;
}

// Takes partial sums and gives sums.
constexpr bool AddsPartials(MoveKind kind) {
  return kind == MoveKind::kAllReduce || kind == MoveKind::kReduceScatter || kind == MoveKind::kSumReduce;
}

// Ghosts go to the ranks that need them, or back to the ranks that own them.
constexpr bool MovesGhosts(MoveKind kind) { return kind == MoveKind::kHalo || kind == MoveKind::kHaloAdjoint; }

}  // namespace partita

#endif  // PARTITA_GRAPH_IR_MOVE_KIND_H_
