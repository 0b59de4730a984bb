// Measures the delay before streams of a recorded step resume after waiting for another stream.
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
// no other launch of the rank ran meanwhile: a hidden launch may take any time, above all if other ranks compute on the
// core. Launches by the host, and launches that wait for them, do not count. `spans`: of launches of the schedule, in
// its order; some may be missing.
std::vector<double> HandOvers(const Schedule& schedule, std::span<const LaunchSpan> spans);

}  // namespace partita

#endif  // PARTITA_GRAPH_TIMELINE_HAND_OVERS_H_
