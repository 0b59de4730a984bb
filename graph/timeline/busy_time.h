// The moments at which some of a timeline's work runs, each of them once.
//
//   ranges     --AAAA-----    and    ----BBB--CC
//   busy time  --XXXXX--XX
#ifndef PARTITA_GRAPH_TIMELINE_BUSY_TIME_H_
#define PARTITA_GRAPH_TIMELINE_BUSY_TIME_H_

#include <cstdint>
#include <vector>

#include "graph/timeline/overlap.h"

namespace partita {

class BusyTime {
 public:
  // Ranges may overlap, lie in one another, be empty, and come in any order. Takes n log n of their number.
  explicit BusyTime(std::vector<TimeRange> ranges);

  // The same moments: disjoint, rising, none empty.
  const std::vector<TimeRange>& ranges() const { return ranges_; }
  int64_t total_ns() const { return before_.back(); }
  // How much of this range is busy. Takes log n.
  int64_t Within(const TimeRange& range) const { return Before(range.end_ns) - Before(range.begin_ns); }

 private:
  int64_t Before(int64_t ns) const;

  std::vector<TimeRange> ranges_;
  std::vector<int64_t> before_;  // by range, what is busy before it; and behind the last one
};

}  // namespace partita

#endif  // PARTITA_GRAPH_TIMELINE_BUSY_TIME_H_
