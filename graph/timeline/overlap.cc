#include "graph/timeline/overlap.h"

#include <cmath>
#include <utility>

#include "graph/timeline/busy_time.h"

namespace partita {

TimeRange RangeOf(const LaunchSpan& span) { return {std::llround(span.begin * 1e9), std::llround(span.end * 1e9)}; }

double OverlapTime::hidden_share() const {
  return busy_ns == 0 ? 1 : static_cast<double>(hidden_ns()) / static_cast<double>(busy_ns);
}

OverlapTime MeasureOverlap(std::vector<TimeRange> work, std::vector<TimeRange> hidden_by) {
  const BusyTime busy(std::move(work)), cover(std::move(hidden_by));
  OverlapTime overlap{busy.total_ns(), busy.total_ns()};
  for (const TimeRange& range : busy.ranges()) overlap.exposed_ns -= cover.Within(range);
  return overlap;
}

}  // namespace partita
