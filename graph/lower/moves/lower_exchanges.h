// The moves that lower to an all-to-all of boxes.
#ifndef PARTITA_GRAPH_LOWER_MOVES_LOWER_EXCHANGES_H_
#define PARTITA_GRAPH_LOWER_MOVES_LOWER_EXCHANGES_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "graph/lower/moves/held_move.h"
#include "graph/lower/moves/move_launches.h"
#include "graph/moves/plan_exchange.h"
#include "graph/schedule/box_copy.h"
#include "graph/schedule/local_program.h"

namespace partita {

// The blocks that a rank gives to and gets from each rank of the group.
struct ExchangedBoxes {
  std::vector<HeldBox> sent, received;
  bool any = false;  // some rank of the group gives another one something

  CollectiveLaunch Launch(const HeldMove& move) const;
};

// Borrows its argument. `exchange_boxes`: ranks reach each other's memory, so that nothing is packed or unpacked.
class ExchangeLowering {
 public:
  ExchangeLowering(MoveLaunches& launches, bool exchange_boxes)
      : launches_(launches), exchange_boxes_(exchange_boxes) {}

  // Send, gather, scatter, repartition and moves between two meshes.
  absl::Status AllToAll(const HeldMove& move);
  absl::Status HaloExchange(const HeldMove& move);
  absl::Status HaloExchangeAdjoint(const HeldMove& move);

 private:
  absl::Status AtOnce(const HeldMove& move, const ExchangePlan& plan);
  // The tensor of what arrived, the blocks one after the other; -1 if nothing did.
  TensorId AppendExchange(const HeldMove& move, const ExchangedBoxes& exchange);
  // The same into the output, where the blocks belong, as boxes.
  LocalLaunch& AppendBoxExchange(const HeldMove& move, const ExchangedBoxes& exchange);
  // As boxes into a tensor of `output_count` elements (-1: nothing is received).
  LocalLaunch& AppendBoxExchange(const HeldMove& move, const ExchangedBoxes& exchange, TensorId output,
                                 std::vector<PlacedBox> places, int64_t output_count);
  absl::Status AppendSumOfParts(const HeldMove& move, const std::vector<HeldBox>& received, TensorId arrived);

  MoveLaunches& launches_;
  const bool exchange_boxes_;
};

}  // namespace partita

#endif  // PARTITA_GRAPH_LOWER_MOVES_LOWER_EXCHANGES_H_
