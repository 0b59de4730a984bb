// Measures how much of one kind of work of a timeline runs during another.
//
//   communication   ---AAAA----BBBBBB---   busy 10
//   computing       CCCCCC------CC--CCCC   exposed 5: where A or B runs and no C
#ifndef PARTITA_GRAPH_TIMELINE_OVERLAP_H_
#define PARTITA_GRAPH_TIMELINE_OVERLAP_H_

#include <cstdint>
#include <vector>

#include "graph/timeline/timeline.h"

namespace partita {

// Without its end; end_ns >= begin_ns.
struct TimeRange {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
};

// To the nearest nanosecond.
TimeRange RangeOf(const LaunchSpan& span);

struct OverlapTime {
  int64_t busy_ns = 0;     // some of the work runs
  int64_t exposed_ns = 0;  // of that, none of what could hide it runs meanwhile

  int64_t hidden_ns() const { return busy_ns - exposed_ns; }
  // 0 to 1; without any work 1, as there is nothing to see.
  double hidden_share() const;
};

// Ranges may overlap, lie in one another, be empty, come from several streams and in any order: a moment counts once.
// Takes n log n of the number of ranges.
OverlapTime MeasureOverlap(std::vector<TimeRange> work, std::vector<TimeRange> hidden_by);

}  // namespace partita

#endif  // PARTITA_GRAPH_TIMELINE_OVERLAP_H_
