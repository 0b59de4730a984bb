// Exchanges that go on in rounds: an all-to-all for each, and copies only where blocks do not follow each other.
#ifndef PARTITA_GRAPH_LOWER_MOVES_LOWER_ROUNDS_H_
#define PARTITA_GRAPH_LOWER_MOVES_LOWER_ROUNDS_H_

#include "absl/status/status.h"
#include "graph/lower/moves/held_move.h"
#include "graph/lower/moves/move_launches.h"
#include "graph/moves/plan_exchange.h"

namespace partita {

// What comes is forwarded from where it lies, in the output if the tile is one run of it. kInternal: the plan does not
// bring this rank what it holds after the move.
absl::Status LowerInRounds(MoveLaunches& launches, const HeldMove& move, const ExchangePlan& plan);

}  // namespace partita

#endif  // PARTITA_GRAPH_LOWER_MOVES_LOWER_ROUNDS_H_
