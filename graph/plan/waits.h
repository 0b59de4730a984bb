// Computes the waits of each launch.
//
// Nothing can deadlock: every wait is for an earlier launch of the program order, and each stream runs its launches in
// that order.
#ifndef PARTITA_GRAPH_PLAN_WAITS_H_
#define PARTITA_GRAPH_PLAN_WAITS_H_

#include "graph/schedule/schedule.h"

namespace partita {

// Sets `order`: the host's begin before the first launch of each stream, the last of each stream before the host's end,
// each collective before the next. Needs streams.
void DeclareOrder(Schedule& schedule);

// Sets `waits` to the fewest that keep every needed order: of launches that touch common bytes, one of them writing,
// and of `order`. Orders that follow from streams and other waits need no wait of their own, so each wait is necessary.
// Needs streams, accesses and order.
void AssignWaits(Schedule& schedule);

}  // namespace partita

#endif  // PARTITA_GRAPH_PLAN_WAITS_H_
