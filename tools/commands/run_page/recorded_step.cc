// RecordedStepToHtml: pictures of a step as it ran.
#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "partitioner/explain/critical_path.h"
#include "run/pictures/step_picture.h"
#include "tools/commands/run_page/run_page.h"

namespace partita {
namespace {

// With a span for each launch of the schedule; one that was not recorded takes no time after the one before it.
RankTimeline TimelineOf(const Session& session, int rank) {
  const Schedule& schedule = session.schedule(kTrainEntry, rank);
  const std::vector<LaunchSpan> recorded = session.Timeline(kTrainEntry, rank);
  RankTimeline timeline{rank, schedule.streams, {}};
  auto next = recorded.begin();
  double now = 0;
  for (const Launch& launch : schedule.launches) {
    const bool is_recorded = next != recorded.end() && next->launch == &launch;
    timeline.spans.push_back(is_recorded ? *next : LaunchSpan{&launch, now, now});
    now = timeline.spans.back().end;
    if (is_recorded) ++next;
  }
  return timeline;
}

// The time since the step began.
TimeRange RangeIn(const LaunchSpan& span) {
  const TimeRange range = RangeOf(span);
  return {std::max<int64_t>(range.begin_ns, 0), std::max<int64_t>(range.end_ns, 0)};
}

StepRow RowOf(const RankTimeline& timeline, int stream, int64_t step_ns) {
  StepRow row(fmt::format("rank {}, stream {}", timeline.rank, stream), step_ns);
  for (const LaunchSpan& span : timeline.spans) {
    if (span.launch->stream != stream || std::holds_alternative<HostLaunch>(span.launch->work)) continue;
    row.Add(KindOfWork(*span.launch), span.launch->name, RangeIn(span));
  }
  return row;
}

}  // namespace

std::string RecordedStepToHtml(const Session& session, std::optional<int64_t> memory_limit) {
  if (!session.records_timeline()) return "";
  std::vector<RankTimeline> timelines;
  for (const int rank : session.local_ranks()) timelines.push_back(TimelineOf(session, rank));
  int64_t step_ns = 0;
  for (const RankTimeline& timeline : timelines) {
    for (const LaunchSpan& span : timeline.spans) step_ns = std::max(step_ns, RangeIn(span).end_ns);
  }
  if (step_ns == 0) return "";
  std::vector<std::vector<StepRow>> groups;
  for (size_t t = 0; t < std::min(timelines.size(), kDrawnRanks); ++t) {
    groups.emplace_back();
    for (int stream = 0; stream < timelines[t].streams; ++stream) {
      groups.back().push_back(RowOf(timelines[t], stream, step_ns));
    }
  }
  const RankTimeline& fullest = *std::ranges::max_element(timelines, {}, [&](const RankTimeline& timeline) {
    return session.schedule(kTrainEntry, timeline.rank).memory.total;
  });
  return "<h2>The last step</h2>\n<p>As recorded; a collective waits for its peers inside of its time.</p>\n" +
         StepLegend(/*waits=*/false) + StepPicture(groups, step_ns) + "<h2>Memory over the step</h2>\n" +
         MemoryPicture(session.schedule(kTrainEntry, fullest.rank), fullest, step_ns, memory_limit);
}

}  // namespace partita
