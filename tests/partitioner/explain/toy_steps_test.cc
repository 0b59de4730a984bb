// Steps of a few launches: what decides them and where their time goes, to the nanosecond.
#include <gtest/gtest.h>

#include "ops/registry.h"
#include "partitioner/explain/critical_path.h"
#include "partitioner/explain/explanation.h"
#include "partitioner/explain/kind_seconds.h"
#include "partitioner/explain/memory_course.h"
#include "partitioner/explain/step_shares.h"
#include "tests/partitioner/simulate/toy.h"

namespace partita {
namespace {

constexpr int64_t kUs = 1000;

// The launches of a step, with their names, simulated as they are and with alike ranks folded.
class Step {
 public:
  Step(std::vector<std::vector<Launch>> launches, bool fold, double wake_seconds = 0)
      : program_(ToyProgram()), schedules_(Schedules(std::move(launches))) {
    Cluster cluster = ToyCluster(2);
    cluster.kinds[0].wake_seconds = wake_seconds;
    auto step = Simulate(program_, Pointers(schedules_), cluster, {.fold = fold});
    EXPECT_TRUE(step.ok()) << step.status();
    step_ = *std::move(step);
  }

  // "rank name begin..end" of each stretch, in microseconds.
  std::vector<std::string> Path() const {
    std::vector<std::string> path;
    for (const PathStretch& stretch : CriticalPath(step_, Arrivals(program_, step_))) {
      path.push_back(std::to_string(stretch.rank) + " " + stretch.launch->name + " " +
                     std::to_string(stretch.range.begin_ns / kUs) + ".." + std::to_string(stretch.range.end_ns / kUs));
    }
    return path;
  }

  TimeOfStep Time() const { return SharesOf(step_, Arrivals(program_, step_)); }

  std::vector<PathShare> Shares() const {
    return SharesOfPath(CriticalPath(step_, Arrivals(program_, step_)),
                        [&](const Launch& launch) { return WorkOfGroup(program_, launch); });
  }

 private:
  Program program_;
  std::vector<Schedule> schedules_;
  SimulatedStep step_;
};

Launch Named(std::string name, Launch launch) {
  launch.name = std::move(name);
  return launch;
}

using Lines = std::vector<std::string>;

// Rank 1 comes 3 us later, and then 8,000 bytes take 2 (1 + 1) us.
TEST(ToySteps, WhoComesLastDecides) {
  for (const bool fold : {true, false}) {
    SCOPED_TRACE(fold);
    const Step step(
        {{Named("short", Work(2)), AllReduce(2, 2000, {0})}, {Named("long", Work(5)), AllReduce(2, 2000, {0})}}, fold);
    EXPECT_EQ(step.Path(), (Lines{"1 long 0..5", "0 all_reduce 5..9"}));
    EXPECT_EQ(step.Shares(), (std::vector<PathShare>{{"forward", 1, 5 * kUs}, {"all_reduce along model", 1, 4 * kUs}}));
    const TimeOfStep time = step.Time();
    EXPECT_EQ(time.step_ns, 9 * kUs);
    EXPECT_EQ(time.all, (StepShares{7 * kUs, 8 * kUs, 3 * kUs, 18 * kUs}));
    ASSERT_GE(time.classes.size(), 3U);
    EXPECT_EQ(time.classes[0].ranks, std::vector<int>{0});
    EXPECT_EQ(time.classes[0].shares, (StepShares{2 * kUs, 4 * kUs, 3 * kUs, 0}));
    EXPECT_EQ(time.classes[1].shares, (StepShares{5 * kUs, 4 * kUs, 0, 0}));
    EXPECT_EQ(time.classes[2].shares, (StepShares{0, 0, 0, 9 * kUs}));
    ASSERT_EQ(time.collectives.size(), 1U);
    EXPECT_EQ(time.collectives[0].transfer_ns, 8 * kUs);
    EXPECT_EQ(time.collectives[0].waiting_ns, 3 * kUs);
  }
}

// Half of the bytes' way is hidden, and what hides it decides nothing.
TEST(ToySteps, WhatIsHiddenIsNotExposed) {
  const std::vector<Launch> launches = {Named("a", Work(3)), AllReduce(2, 2000, {0}), Named("b", Work(2)),
                                        Named("c", Work(1, 0, {1}))};
  const Step step({launches, launches}, true);
  EXPECT_EQ(step.Path(), (Lines{"0 a 0..3", "0 all_reduce 3..7", "0 c 7..8"}));
  const TimeOfStep time = step.Time();
  EXPECT_EQ(time.classes[0].ranks, (std::vector<int>{0, 1}));
  EXPECT_EQ(time.classes[0].shares, (StepShares{6 * kUs, 2 * kUs, 0, 0}));
  EXPECT_EQ(time.all, (StepShares{12 * kUs, 4 * kUs, 0, 16 * kUs}));
}

// Each of the two hand-overs takes 3 us: the all_reduce's on its own stream, c's behind it.
TEST(ToySteps, WhatWakingTakesIsOnThePathAndIdle) {
  const std::vector<Launch> launches = {Named("a", Work(3)), AllReduce(2, 2000, {0}), Named("c", Work(1, 0, {1}))};
  const Step step({launches, launches}, true, 3e-6);
  EXPECT_EQ(step.Path(), (Lines{"0 a 0..3", "0 all_reduce 3..10", "0 c 10..14"}));
  EXPECT_EQ(step.Time().classes[0].shares, (StepShares{4 * kUs, 4 * kUs, 0, 6 * kUs}));
}

// Rank 0 has come at 3 and rank 1 at 5; until 6 rank 0 computes. Without bytes an all_reduce takes 2 us.
TEST(ToySteps, AWaitIsHiddenAsBytesAre) {
  const std::vector<Launch> first = {Named("C1", Work(4)), Named("on the other stream", Work(3, 1)), AllReduce(2, 0),
                                     Named("C2", Work(2)), Named("C3", Work(3, 0, {2}))};
  const std::vector<Launch> second = {Named("D", Work(5)), AllReduce(2, 0, {0}), Named("E", Work(9))};
  const Step step({first, second}, true);
  const TimeOfStep time = step.Time();
  EXPECT_EQ(time.step_ns, 14 * kUs);
  EXPECT_EQ(time.classes[0].shares, (StepShares{9 * kUs, 1 * kUs, 0, 4 * kUs}));
  EXPECT_EQ(time.classes[1].shares, (StepShares{14 * kUs, 0, 0, 0}));
  EXPECT_EQ(step.Path(), (Lines{"1 D 0..5", "1 E 5..14"}));
}

// Two collectives that share a way: the longer one is whole on the path, with what made it so slow.
TEST(ToySteps, TheWayThatIsSharedIsOnThePath) {
  const std::vector<Launch> even = {AllReduce(0, 2000)}, odd = {Named("late", Work(14)), AllReduce(1, 2000, {0})};
  const Step step({even, odd, even, odd}, true);
  EXPECT_EQ(step.Path(), (Lines{"1 late 0..14", "1 all_reduce 14..46"}));
  EXPECT_EQ(step.Time().all, (StepShares{28 * kUs, 2 * 32 * kUs + 2 * 32 * kUs, 0, 2 * 14 * kUs}));
}

// Of each kind all launches, wherever they overlap; the host's are none.
TEST(ToySteps, KindsOfLaunchesAreAddedUp) {
  const std::vector<Launch> launches = {Work(1), AllReduce(0, 1), AllReduce(1, 1), AllReduce(2, 1), Work(1)};
  Launch host;
  host.work = HostLaunch();
  Launch kernel;
  KernelLaunch product;
  product.node.op = Ops().Find("matmul");
  kernel.work = product;
  const std::vector<LaunchSpan> spans = {{&host, 0, 1},        {&launches[0], 0, 2}, {&launches[1], 1, 4},
                                         {&launches[2], 4, 8}, {&launches[3], 8, 9}, {&launches[4], 5, 6},
                                         {&kernel, 2, 5}};
  KindSeconds seconds = KindSecondsOf(spans, ToyProgram());
  EXPECT_EQ(seconds, (KindSeconds{{"copies", 3}, {"group data", 7}, {"group model", 1}, {"op matmul", 3}}));
  RaiseTo({{"copies", 2}, {"group model", 5}, {"op add", 1}}, seconds);
  EXPECT_EQ(seconds,
            (KindSeconds{{"copies", 3}, {"group data", 7}, {"group model", 5}, {"op add", 1}, {"op matmul", 3}}));
}

// The picture of memory_course.h, three microseconds for each change, with a state and a workspace.
TEST(ToySteps, MemoryRisesAndFalls) {
  const std::vector<Launch> launches = {Work(3), Work(3), Work(3)};
  Schedule schedule;
  schedule.launches = launches;
  schedule.lifetimes = {{"state", {0, 100}, 0, 2, true, false},
                        {"a", {100, 10}, 0, 1, false, false},
                        {"b", {110, 5}, 1, 2, false, false},
                        {"workspace", {120, 40}, 1, 1, false, true}};
  RankTimeline timeline;
  for (size_t l = 0; l < 3; ++l) {
    const double begin = 3e-6 * static_cast<double>(l);
    timeline.spans.push_back({&schedule.launches[l], begin, begin + 3e-6});
  }
  EXPECT_EQ(MemoryCourse(schedule, timeline),
            (std::vector<MemoryMoment>{{0, 110}, {3 * kUs, 155}, {6 * kUs, 105}, {9 * kUs, 100}}));
}

TEST(ToySteps, AStepWithoutLaunches) {
  const Step step({}, true);
  EXPECT_TRUE(step.Path().empty());
  EXPECT_EQ(step.Time().step_ns, 0);
  EXPECT_EQ(step.Time().all, StepShares{});
}

}  // namespace
}  // namespace partita
