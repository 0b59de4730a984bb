// Which stream runs a launch, and what it must wait for.
//
// Streams 0 .. compute_streams-1 compute, the next one carries every collective in program order, and the last is the
// host's. Nothing can deadlock: every wait is for an earlier launch of the program order, and each stream runs its
// launches in that order.
#ifndef PARTITA_GRAPH_PLAN_STREAMS_H_
#define PARTITA_GRAPH_PLAN_STREAMS_H_

#include <vector>

#include "graph/schedule/schedule.h"

namespace partita {

// Sets `streams` and every launch's `stream`. `producers[l]`: the launches that make what launch l reads. A launch goes
// on where the latest of its producers was the last so far, else to the stream with the fewest bytes touched so far.
// Needs `accesses`.
void AssignStreams(const std::vector<std::vector<int>>& producers, int compute_streams, Schedule& schedule);

// Sets `order`: the host's begin before the first launch of each stream, the last of each stream before the host's end,
// each collective before the next.
void DeclareOrder(Schedule& schedule);

// Sets `waits` to the fewest that keep every needed order: of launches that touch common bytes, one of them writing,
// and of `order`. What follows from stream order and other waits is left out, so that each wait is necessary. Needs
// streams, accesses and order.
void AssignWaits(Schedule& schedule);

}  // namespace partita

#endif  // PARTITA_GRAPH_PLAN_STREAMS_H_
