// How late streams of a recorded step go on that have waited for another one.
//
//   stream 0   AAAA        CCC  DDD   b begins 2 after A has ended, C 3 after b: [2, 3]
//   stream 1         bbb         e    e, after C, is no less late, but D hides it
#ifndef PARTITA_GRAPH_TIMELINE_HAND_OVERS_H_
#define PARTITA_GRAPH_TIMELINE_HAND_OVERS_H_

#include <span>
#include <vector>

#include "graph/timeline/timeline.h"

namespace partita {

// Seconds, 0 or more, of each launch whose stream had nothing to do when the last of those ended that it waits for, if
// nothing else of the rank ran meanwhile: what is hidden takes as long as it likes, above all where others compute on
// the core. What the host launches, and what waits for that, is none. `spans`: of launches of the schedule, in its
// order; some may be missing.
std::vector<double> HandOvers(const Schedule& schedule, std::span<const LaunchSpan> spans);

}  // namespace partita

#endif  // PARTITA_GRAPH_TIMELINE_HAND_OVERS_H_
