#include "graph/timeline/step_times.h"

#include <algorithm>
#include <variant>

#include "graph/timeline/overlap.h"

namespace partita {

StepTimes TimesOf(std::span<const LaunchSpan> spans) {
  std::vector<TimeRange> collectives, kernels;
  int64_t last = 0;
  for (const LaunchSpan& span : spans) {
    const TimeRange range = RangeOf(span);
    last = std::max(last, range.end_ns);
    if (std::holds_alternative<HostLaunch>(span.launch->work)) continue;
    (std::holds_alternative<CollectiveLaunch>(span.launch->work) ? collectives : kernels).push_back(range);
  }
  const int64_t compute = MeasureOverlap(kernels, {}).busy_ns;
  const OverlapTime communication = MeasureOverlap(std::move(collectives), std::move(kernels));
  const auto seconds = [](int64_t ns) { return 1e-9 * static_cast<double>(ns); };
  return {seconds(last), seconds(compute), seconds(communication.busy_ns), seconds(communication.exposed_ns),
          seconds(last - compute - communication.exposed_ns)};
}

}  // namespace partita
