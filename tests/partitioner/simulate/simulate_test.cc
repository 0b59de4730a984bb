// Steps of a few launches, to the microsecond.
#include "partitioner/simulate/simulate.h"

#include <gmock/gmock.h>

#include "graph/ir/op_definition.h"
#include "graph/timeline/step_times.h"
#include "tests/partitioner/simulate/toy.h"

namespace partita {
namespace {

using ::testing::HasSubstr;

// Begins and ends of each rank's launches, in microseconds.
using Spans = std::vector<std::vector<std::pair<double, double>>>;

void ExpectSpans(std::vector<std::vector<Launch>> launches, const Spans& expected,
                 const Cluster& cluster = ToyCluster(2)) {
  const std::vector<Schedule> schedules = Schedules(std::move(launches));
  for (const bool fold : {true, false}) {
    SCOPED_TRACE(fold ? "folded" : "rank by rank");
    const auto step = Simulate(ToyProgram(), Pointers(schedules), cluster, {.fold = fold});
    ASSERT_TRUE(step.ok()) << step.status();
    for (size_t rank = 0; rank < expected.size(); ++rank) {
      const std::vector<LaunchSpan>& spans = step->Of(static_cast<int>(rank)).spans;
      ASSERT_EQ(spans.size(), expected[rank].size());
      for (size_t l = 0; l < spans.size(); ++l) {
        EXPECT_NEAR(spans[l].begin * 1e6, expected[rank][l].first, 1e-9) << "rank " << rank << " launch " << l;
        EXPECT_NEAR(spans[l].end * 1e6, expected[rank][l].second, 1e-9) << "rank " << rank << " launch " << l;
      }
    }
  }
}

StepTimes TimesOfRank(const SimulatedStep& step, int rank) { return TimesOf(step.Of(rank).spans); }

TEST(Simulate, TwoStreamsAndWaits) {
  ExpectSpans({{Work(4), Work(6, 1), Work(3, 0, {1}), Work(2, 1, {0})}}, {{{0, 4}, {0, 6}, {6, 9}, {6, 8}}});
}

TEST(Simulate, TheHostsLaunchesTakeNoTime) {
  Launch begin = Work(0, 2), end = Work(0, 2, {1});
  begin.work = HostLaunch{true};
  end.work = HostLaunch{false};
  ExpectSpans({{begin, Work(4, 0, {0}), end}}, {{{0, 0}, {0, 4}, {4, 4}}});
}

// Within a node 2 (1 + 1) us for 8,000 bytes.
TEST(Simulate, ACollectiveWaitsForItsSlowestRank) {
  ExpectSpans({{Work(2), AllReduce(2, 2000, {0})}, {Work(5), AllReduce(2, 2000, {0})}},
              {{{0, 2}, {2, 9}}, {{0, 5}, {5, 9}}});
}

TEST(Simulate, AnAllReduceBehindTheBackwardPass) {
  const std::vector<Launch> launches = {Work(3), AllReduce(2, 2000, {0}), Work(10), Work(1, 0, {1})};
  ExpectSpans({launches, launches}, {{{0, 3}, {3, 7}, {3, 13}, {13, 14}}, {{0, 3}, {3, 7}, {3, 13}, {13, 14}}});
  // Half of it exposed.
  const std::vector<Launch> shorter = {Work(3), AllReduce(2, 2000, {0}), Work(2), Work(1, 0, {1})};
  const std::vector<Schedule> schedules = Schedules({shorter, shorter});
  const auto step = Simulate(ToyProgram(), Pointers(schedules), ToyCluster(2));
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_NEAR(step->seconds() * 1e6, 8, 1e-9);
  const StepTimes times = TimesOfRank(*step, 1);
  EXPECT_NEAR(times.step * 1e6, 8, 1e-9);
  EXPECT_NEAR(times.compute * 1e6, 6, 1e-9);
  EXPECT_NEAR(times.communication * 1e6, 4, 1e-9);
  EXPECT_NEAR(times.exposed * 1e6, 2, 1e-9);
  EXPECT_NEAR(times.idle * 1e6, 0, 1e-9);
}

TEST(Simulate, RanksOnTheSameCoresHaveHalfOfThem) {
  ExpectSpans({{Work(4)}, {Work(1)}}, {{{0, 8}}, {{0, 2}}}, ToyCluster(2, true));
}

// Rank 1 has half of the cores until rank 0 has done, and all of them then.
TEST(Simulate, WhoIsAloneOnItsCoresIsQuicker) {
  Cluster cluster = ToyCluster(2, true);
  cluster.kinds[0].slowdown = {{1, 1}, {2, 2}};
  ExpectSpans({{Work(2)}, {Work(4)}}, {{{0, 4}}, {{0, 6}}}, cluster);
  ExpectSpans({{Work(2)}, {}, {Work(2)}, {Work(2)}}, {{{0, 2}}, {}, {{0, 4}}, {{0, 4}}}, cluster);
  // While it waits it takes nothing; a second launch takes half again. Alone an all_reduce of nothing takes 2 us.
  ExpectSpans({{Work(1), AllReduce(2, 0, {0}), Work(2, 0, {1})}, {Work(4), AllReduce(2, 0, {0}), Work(1, 0, {1})}},
              {{{0, 2}, {2, 7}, {7, 10}}, {{0, 5}, {5, 7}, {7, 9}}}, cluster);
  cluster.kinds[0].slowdown = {{1, 1}, {2, 1}};
  ExpectSpans({{Work(2)}, {Work(4)}}, {{{0, 4}}, {{0, 8}}}, cluster);
}

// 3 us for each hand-over; a stream that is busy until then needs none, nor does what the host launches.
TEST(Simulate, AStreamThatHasWaitedGoesOnLate) {
  Cluster cluster = ToyCluster(2);
  cluster.kinds[0].wake_seconds = 3e-6;
  ExpectSpans({{Work(4), Work(6, 1), Work(3, 0, {1}), Work(2, 1, {0})}}, {{{0, 4}, {0, 6}, {9, 12}, {6, 8}}}, cluster);
  ExpectSpans({{Work(4), Work(4, 1), Work(1, 0, {1})}}, {{{0, 4}, {0, 4}, {4, 5}}}, cluster);
  const std::vector<Launch> launches = {Work(3), AllReduce(2, 2000, {0}), Work(2), Work(1, 0, {1})};
  ExpectSpans({launches, launches}, {{{0, 3}, {6, 10}, {3, 5}, {13, 14}}, {{0, 3}, {6, 10}, {3, 5}, {13, 14}}},
              cluster);
  Launch begin = Work(0, 2), end = Work(0, 2, {1});
  begin.work = HostLaunch{true};
  end.work = HostLaunch{false};
  ExpectSpans({{begin, Work(4, 0, {0}), end}}, {{{0, 0}, {0, 4}, {4, 4}}}, cluster);
}

// Between nodes 2 * 10 + 8 us for 8,000 bytes, and 2 * 10 + 16 where two groups leave their nodes at that time.
TEST(Simulate, GroupsThatLeaveANodeAtTheSameTimeShareItsWay) {
  const std::vector<Launch> even = {AllReduce(0, 2000)}, odd = {AllReduce(1, 2000)};
  ExpectSpans({even, odd, even, odd}, {{{0, 36}}, {{0, 36}}, {{0, 36}}, {{0, 36}}});
}

// The picture of meetings.h.
TEST(Simulate, WhatIsLeftGoesOnAtTheNewPace) {
  const std::vector<Launch> even = {AllReduce(0, 2000)}, odd = {Work(14), AllReduce(1, 2000, {0})};
  ExpectSpans({even, odd, even, odd}, {{{0, 32}}, {{0, 14}, {14, 46}}, {{0, 32}}, {{0, 14}, {14, 46}}});
}

TEST(Simulate, GroupsAfterEachOtherDoNotShare) {
  const std::vector<Launch> even = {AllReduce(0, 2000)}, odd = {Work(28), AllReduce(1, 2000, {0})};
  ExpectSpans({even, odd, even, odd}, {{{0, 28}}, {{0, 28}, {28, 56}}, {{0, 28}}, {{0, 28}, {28, 56}}});
}

// Rank 1 sends 1,000 elements to rank 0, which sends 3,000.
TEST(Simulate, MessagesEndWhenTheBusiestRankHasDone) {
  std::vector<std::vector<Launch>> launches = {{AllReduce(2, 0)}, {AllReduce(2, 0)}};
  for (int rank = 0; rank < 2; ++rank) {
    CollectiveLaunch call;
    call.kind = CollectiveKind::kAllToAll;
    call.group = 2;
    call.send_counts = rank == 0 ? std::vector<int64_t>{7, 3000} : std::vector<int64_t>{1000, 7};
    call.receive_counts = rank == 0 ? std::vector<int64_t>{7, 1000} : std::vector<int64_t>{3000, 7};
    launches[rank][0].work = call;
  }
  ExpectSpans(std::move(launches), {{{0, 4}}, {{0, 4}}});
}

TEST(Simulate, MeasuredTimesComeBeforeTheRoofline) {
  OpDefinition op;
  op.name = "op";
  KernelLaunch kernel;
  kernel.node.op = &op;
  kernel.node.outputs = {{DType::kF32, {10}, {{0}, {10}}}};
  Launch launch;
  launch.work = kernel;
  const std::vector<Schedule> schedules = Schedules({{launch}});
  const auto step =
      Simulate(ToyProgram(), Pointers(schedules), ToyCluster(2), {.times = {{SignatureOf(kernel.node), 7e-6}}});
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_NEAR(step->Of(0).spans[0].end * 1e6, 7, 1e-9);
}

TEST(Simulate, MoreRanksThanDevicesAreRefused) {
  const std::vector<Schedule> schedules = Schedules({});
  const auto step = Simulate(ToyProgram(), Pointers(schedules), ToyCluster(1));
  EXPECT_EQ(step.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(step.status().message()), HasSubstr("has 2 devices and the strategy 4 ranks"));
}

TEST(Simulate, WhoNeverComesIsABug) {
  const std::vector<Schedule> schedules = Schedules({{AllReduce(2, 1)}, {}});
  const auto step = Simulate(ToyProgram(), Pointers(schedules), ToyCluster(2));
  EXPECT_EQ(step.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(step.status().message()), HasSubstr("rank 0: 0 of its 1 launches"));
}

}  // namespace
}  // namespace partita
