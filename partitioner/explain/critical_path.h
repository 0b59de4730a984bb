// The critical path of a simulated step: a chain of launches. Each begins because the one before it ended or, for a
// collective, because the last rank of its group arrived.
//
//   rank 0   AAAA-bbbb CC         path: D on rank 1, b from when rank 1 has come, C; A and the wait for rank 1 decide
//   rank 1   DDDDD bbbb           nothing
//
// To shorten the step, something on the path must become shorter.
#ifndef PARTITA_PARTITIONER_EXPLAIN_CRITICAL_PATH_H_
#define PARTITA_PARTITIONER_EXPLAIN_CRITICAL_PATH_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "graph/timeline/overlap.h"
#include "partitioner/explain/arrivals.h"

namespace partita {

// A part of the path: a launch, and that its stream goes on late which has waited for another one
// (DeviceKind::wake_seconds). The launch is of a schedule, which outlives it.
struct PathStretch {
  const Launch* launch = nullptr;
  int rank = 0;
  TimeRange range;

  int64_t ns() const { return range.end_ns - range.begin_ns; }
};

// In the order of time, without gaps from 0 to the end of the step; launches that take no time are omitted. `arrivals`:
// of the same step.
std::vector<PathStretch> CriticalPath(const SimulatedStep& step, const Arrivals& arrivals);

// What the stretches of one label take together.
struct PathShare {
  std::string label;
  int stretches = 0;
  int64_t ns = 0;
  bool operator==(const PathShare&) const = default;
};

// The longest first, equals by their labels. They add up to the path.
std::vector<PathShare> SharesOfPath(const std::vector<PathStretch>& path,
                                    const std::function<std::string(const Launch&)>& label);

// "forward", "backward", "update"; of a collective "all_reduce", ...
std::string KindOfWork(const Launch& launch);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_EXPLAIN_CRITICAL_PATH_H_
