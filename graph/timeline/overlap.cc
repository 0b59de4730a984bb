#include "graph/timeline/overlap.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/check.h"

namespace partita {
namespace {

// The same moments as disjoint ranges in their order, none of them empty.
void Join(std::vector<TimeRange>& ranges) {
  std::ranges::sort(ranges, {}, &TimeRange::begin_ns);
  size_t joined = 0;
  for (const TimeRange& range : ranges) {
    CHECK(range.end_ns >= range.begin_ns);
    if (range.end_ns == range.begin_ns) continue;
    if (joined > 0 && range.begin_ns <= ranges[joined - 1].end_ns) {
      ranges[joined - 1].end_ns = std::max(ranges[joined - 1].end_ns, range.end_ns);
    } else {
      ranges[joined++] = range;
    }
  }
  ranges.resize(joined);
}

}  // namespace

TimeRange RangeOf(const LaunchSpan& span) { return {std::llround(span.begin * 1e9), std::llround(span.end * 1e9)}; }

double OverlapTime::hidden_share() const {
  return busy_ns == 0 ? 1 : static_cast<double>(hidden_ns()) / static_cast<double>(busy_ns);
}

OverlapTime MeasureOverlap(std::vector<TimeRange> work, std::vector<TimeRange> hidden_by) {
  Join(work);
  Join(hidden_by);
  OverlapTime overlap;
  auto cover = hidden_by.begin();
  for (const TimeRange& range : work) {
    overlap.busy_ns += range.end_ns - range.begin_ns;
    while (cover != hidden_by.end() && cover->end_ns <= range.begin_ns) ++cover;
    int64_t open = range.begin_ns;  // up to here it is known
    for (auto next = cover; next != hidden_by.end() && next->begin_ns < range.end_ns; ++next) {
      overlap.exposed_ns += std::max<int64_t>(0, next->begin_ns - open);
      open = next->end_ns;
    }
    overlap.exposed_ns += std::max<int64_t>(0, range.end_ns - open);
  }
  return overlap;
}

}  // namespace partita
