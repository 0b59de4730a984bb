#include "graph/timeline/hand_overs.h"

#include <algorithm>
#include <utility>

#include "graph/timeline/busy_time.h"

namespace partita {

std::vector<double> HandOvers(const Schedule& schedule, std::span<const LaunchSpan> spans) {
  std::vector<TimeRange> ranges;
  for (const LaunchSpan& span : spans) {
    if (span.launch->stream != schedule.host_stream()) ranges.push_back(RangeOf(span));
  }
  const BusyTime busy(std::move(ranges));
  std::vector<double> hand_overs;
  std::vector<double> ends(schedule.launches.size(), 0);                        // by launch
  std::vector<double> own(static_cast<size_t>(schedule.host_stream()) + 1, 0);  // by stream, so far
  for (const LaunchSpan& span : spans) {
    const Launch& launch = *span.launch;
    if (launch.stream == schedule.host_stream()) continue;
    double awaited = 0;
    for (const int wait : launch.waits) awaited = std::max(awaited, ends[static_cast<size_t>(wait)]);
    double& before = own[static_cast<size_t>(launch.stream)];
    const double late = std::max(0.0, span.begin - awaited);
    const bool hidden = busy.Within(RangeOf({&launch, awaited, awaited + late})) > 0;
    if (awaited > before && !hidden) hand_overs.push_back(late);
    before = ends[static_cast<size_t>(&launch - schedule.launches.data())] = span.end;
  }
  return hand_overs;
}

}  // namespace partita
