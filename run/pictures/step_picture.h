// Pictures of a step, a predicted or a measured one: what streams of ranks do over time, and the memory in use.
#ifndef PARTITA_RUN_PICTURES_STEP_PICTURE_H_
#define PARTITA_RUN_PICTURES_STEP_PICTURE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/schedule/schedule.h"
#include "graph/timeline/overlap.h"
#include "graph/timeline/timeline.h"

namespace partita {

// Of a picture, beyond which ranks are not drawn.
inline constexpr size_t kDrawnRanks = 8;

// A limit of memory that is further off, as a multiple of the largest arena, is not drawn: little else could be seen.
inline constexpr int64_t kLargestLimit = 10;

// The kind of a part of a row that waits for other ranks, beside those of KindOfWork.
inline constexpr char kWaiting[] = "waiting";

// What one stream does in a step. Neighbours of one kind that are too narrow to be told apart are drawn as one.
class StepRow {
 public:
  StepRow(std::string title, int64_t step_ns);

  // In the order of time.
  void Add(const std::string& kind, const std::string& name, const TimeRange& range);
  std::string Draw(double y) const;

 private:
  struct Bar {
    std::string kind, name;
    int launches = 1;
    TimeRange range;
  };

  double Pixels(const TimeRange& range) const;
  bool Joins(const TimeRange& before, const TimeRange& range) const;

  std::string title_;
  double scale_;  // pixels for a nanosecond
  std::vector<Bar> bars_;
};

// HTML: rows over one axis of time, with a gap between groups; and what the colours mean, with that of kWaiting if it
// is one of them.
std::string StepPicture(const std::vector<std::vector<StepRow>>& groups, int64_t step_ns);
std::string StepLegend(bool waits);

// HTML: the bytes in use over the step in the arena of the rank, and its limit if there is one. `timeline`: of the
// schedule.
std::string MemoryPicture(const Schedule& schedule, const RankTimeline& timeline, int64_t step_ns,
                          std::optional<int64_t> limit);

}  // namespace partita

#endif  // PARTITA_RUN_PICTURES_STEP_PICTURE_H_
