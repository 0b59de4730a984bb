// The times of the launches of a step, either recorded or simulated (partitioner/simulate).
#ifndef PARTITA_GRAPH_TIMELINE_TIMELINE_H_
#define PARTITA_GRAPH_TIMELINE_TIMELINE_H_

#include <vector>

#include "graph/schedule/schedule.h"

namespace partita {

// One launch of a step. A collective waits for its peers inside of its span; waiting for launches of other streams is
// before it.
struct LaunchSpan {
  const Launch* launch = nullptr;  // of a schedule, which outlives the span
  double begin = 0, end = 0;       // seconds since the step began
};

// Of one rank.
struct RankTimeline {
  int rank = 0;
  int streams = 1;                // Schedule::streams
  std::vector<LaunchSpan> spans;  // in the order of the launches
};

}  // namespace partita

#endif  // PARTITA_GRAPH_TIMELINE_TIMELINE_H_
