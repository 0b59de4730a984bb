// Memory in use in a rank's arena over the course of a simulated step.
//
//   a   ======               bytes in use rise where the launch begins that makes something, and fall where the last
//   one b      ======            that reads it has ended; states are in use all the time
//       111222111
#ifndef PARTITA_PARTITIONER_EXPLAIN_MEMORY_COURSE_H_
#define PARTITA_PARTITIONER_EXPLAIN_MEMORY_COURSE_H_

#include <cstdint>
#include <vector>

#include "graph/schedule/schedule.h"
#include "graph/timeline/timeline.h"

namespace partita {

// From this moment on, until the next one.
struct MemoryMoment {
  int64_t ns = 0;
  int64_t bytes = 0;
  bool operator==(const MemoryMoment&) const = default;
};

// From 0 on, in the order of time; never more than the arena, which also has gaps between what lies in it. `timeline`:
// of the schedule. Takes n log n.
std::vector<MemoryMoment> MemoryCourse(const Schedule& schedule, const RankTimeline& timeline);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_EXPLAIN_MEMORY_COURSE_H_
