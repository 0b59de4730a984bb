#include "partitioner/explain/memory_course.h"

#include <map>

#include "graph/timeline/overlap.h"

namespace partita {

std::vector<MemoryMoment> MemoryCourse(const Schedule& schedule, const RankTimeline& timeline) {
  std::map<int64_t, int64_t> changes = {{0, 0}};  // by moment
  for (const Lifetime& lifetime : schedule.lifetimes) {
    if (lifetime.persistent) {
      changes[0] += lifetime.range.bytes;
      continue;
    }
    changes[RangeOf(timeline.spans[lifetime.first]).begin_ns] += lifetime.range.bytes;
    changes[RangeOf(timeline.spans[lifetime.last]).end_ns] -= lifetime.range.bytes;
  }
  std::vector<MemoryMoment> course;
  int64_t bytes = 0;
  for (const auto& [ns, change] : changes) {
    bytes += change;
    if (course.empty() || change != 0) course.push_back({ns, bytes});
  }
  return course;
}

}  // namespace partita
