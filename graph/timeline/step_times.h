// Breaks down the time of a rank's step.
//
//   communication   --AAAA--BBB---         step 14: computing 9; A and B 7, 4 of them exposed, as no C runs meanwhile;
//   computing       CCCC--CCC---CC         idle 1, before the last C
#ifndef PARTITA_GRAPH_TIMELINE_STEP_TIMES_H_
#define PARTITA_GRAPH_TIMELINE_STEP_TIMES_H_

#include <span>

#include "graph/timeline/timeline.h"

namespace partita {

// Seconds, each moment counted once.
struct StepTimes {
  double step = 0;           // until the last launch has ended
  double compute = 0;        // a kernel or a copy runs
  double communication = 0;  // a collective runs, waiting for its peers included
  double exposed = 0;        // of that, nothing is computed meanwhile
  double idle = 0;           // nothing runs
};

StepTimes TimesOf(std::span<const LaunchSpan> spans);

}  // namespace partita

#endif  // PARTITA_GRAPH_TIMELINE_STEP_TIMES_H_
