#include "graph/timeline/busy_time.h"

#include <algorithm>
#include <utility>

#include "runtime/base/check.h"

namespace partita {

BusyTime::BusyTime(std::vector<TimeRange> ranges) : before_{0} {
  std::ranges::sort(ranges, {}, &TimeRange::begin_ns);
  for (const TimeRange& range : ranges) {
    CHECK(range.end_ns >= range.begin_ns);
    if (range.end_ns == range.begin_ns) continue;
    if (!ranges_.empty() && range.begin_ns <= ranges_.back().end_ns) {
      ranges_.back().end_ns = std::max(ranges_.back().end_ns, range.end_ns);
    } else {
      ranges_.push_back(range);
    }
  }
  for (const TimeRange& range : ranges_) before_.push_back(before_.back() + range.end_ns - range.begin_ns);
}

int64_t BusyTime::Before(int64_t ns) const {
  const auto next = std::ranges::upper_bound(ranges_, ns, {}, &TimeRange::begin_ns);  // begins later
  const auto place = static_cast<size_t>(next - ranges_.begin());
  if (place == 0) return 0;
  const TimeRange& last = ranges_[place - 1];
  return before_[place - 1] + std::min(ns, last.end_ns) - last.begin_ns;
}

}  // namespace partita
