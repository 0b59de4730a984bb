// Who sends what when a value changes hands: the planning of an exchange (algorithms.md 6.1).
//
// A tile is what a box of the source and a box of the destination have in common. Replicas of a source box can all send
// it. A receiver that holds a tile keeps its own; of the others, tiles that one rank alone holds are its to send, and
// then, the largest first, each tile is sent by that of its holders that has least to send so far.
#ifndef PARTITA_GRAPH_MOVES_PLAN_EXCHANGE_H_
#define PARTITA_GRAPH_MOVES_PLAN_EXCHANGE_H_

#include <optional>
#include <vector>

#include "graph/shape.h"

namespace partita {

struct TileSend {
  int from = 0, to = 0;  // positions in the two lists; the same: kept
  Box tile;

  bool operator==(const TileSend&) const = default;
};

// What each rank holds before and shall hold afterwards; nothing, or no elements: nullopt. Boxes of `from` are equal or
// have no element in common. By receiver, then by sender; at most one tile for each pair. Every rank that plans the
// same exchange gets the same plan.
std::vector<TileSend> PlanExchange(const std::vector<std::optional<Box>>& from,
                                   const std::vector<std::optional<Box>>& to);

}  // namespace partita

#endif  // PARTITA_GRAPH_MOVES_PLAN_EXCHANGE_H_
