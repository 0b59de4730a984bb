// The header's picture, moment by moment.
#include "graph/timeline/hand_overs.h"

#include <gtest/gtest.h>

namespace partita {
namespace {

Launch On(int stream, std::vector<int> waits = {}) {
  Launch launch;
  launch.stream = stream;
  launch.waits = std::move(waits);
  launch.work = KernelLaunch();
  return launch;
}

Schedule Of(int streams, std::vector<Launch> launches) {
  Schedule schedule;
  schedule.streams = streams;
  schedule.launches = std::move(launches);
  return schedule;
}

std::vector<LaunchSpan> Spans(const Schedule& schedule, const std::vector<std::pair<double, double>>& times) {
  std::vector<LaunchSpan> spans;
  for (size_t l = 0; l < times.size(); ++l) spans.push_back({&schedule.launches[l], times[l].first, times[l].second});
  return spans;
}

using Seconds = std::vector<double>;

TEST(HandOvers, TheHeadersPicture) {
  const Schedule schedule = Of(2, {On(0), On(1, {0}), On(0, {1}), On(0), On(1, {2})});
  EXPECT_EQ(HandOvers(schedule, Spans(schedule, {{0, 4}, {6, 9}, {12, 15}, {17, 20}, {18, 19}})), (Seconds{2, 3}));
}

TEST(HandOvers, WhoIsBusyUntilThenWaitsForNobody) {
  const Schedule schedule = Of(2, {On(0), On(1), On(0, {1})});
  EXPECT_EQ(HandOvers(schedule, Spans(schedule, {{0, 4}, {0, 3}, {5, 6}})), Seconds());
}

TEST(HandOvers, TheHostHasNone) {
  const Schedule schedule = Of(1, {On(1), On(0, {0}), On(1, {1})});
  EXPECT_EQ(HandOvers(schedule, Spans(schedule, {{0, 1}, {2, 3}, {4, 5}})), Seconds());
}

TEST(HandOvers, LaunchesThatWereNotRecordedCountForNothing) {
  const Schedule schedule = Of(2, {On(0), On(1, {0}), On(0, {1})});
  std::vector<LaunchSpan> spans = Spans(schedule, {{0, 4}, {6, 9}, {12, 14}});
  spans.erase(spans.begin() + 1);
  EXPECT_EQ(HandOvers(schedule, spans), Seconds());
}

}  // namespace
}  // namespace partita
