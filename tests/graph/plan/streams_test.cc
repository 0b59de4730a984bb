#include "graph/plan/streams.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "graph/prove/verify_schedule.h"
#include "tests/graph/schedule/schedule_testing.h"

namespace partita {
namespace {

constexpr double kWait = 2;

std::vector<StreamWork> Launches(const std::vector<std::pair<double, std::vector<int>>>& launches) {
  std::vector<StreamWork> work;
  for (const auto& [seconds, producers] : launches) work.push_back({Lane::kCompute, seconds, producers});
  return work;
}

// Launches that read up to two of those before them; some are collectives.
std::vector<StreamWork> RandomWork(uint64_t seed, int launches, bool collectives) {
  std::mt19937_64 random(seed);
  std::vector<StreamWork> work;
  for (int l = 0; l < launches; ++l) {
    StreamWork one{Lane::kCompute, static_cast<double>(1 + random() % 20), {}};
    if (collectives && random() % 6 == 0) one.lane = Lane::kCollective;
    for (uint64_t reads = random() % 3; l > 0 && reads > 0; --reads) {
      one.producers.push_back(static_cast<int>(random() % static_cast<uint64_t>(l)));
    }
    work.push_back(one);
  }
  return work;
}

// Of every way to give the launches, none a collective, their streams.
double ShortestStep(const std::vector<StreamWork>& work, int compute_streams) {
  std::vector<int> streams(work.size(), 0);
  double least = StepSeconds(work, streams, kWait);
  for (size_t l = 0; l < work.size();) {
    if (++streams[l] == compute_streams) {
      streams[l++] = 0;
      continue;
    }
    least = std::min(least, StepSeconds(work, streams, kWait));
    l = 0;
  }
  return least;
}

TEST(AssignStreams, AChainStaysOnOneStream) {
  std::vector<StreamWork> chain = Launches({{5, {}}});
  for (int l = 1; l < 30; ++l) chain.push_back({Lane::kCompute, 1.0 + l % 3, {l - 1}});
  for (const double wait : {0.0, kWait}) {
    EXPECT_EQ(AssignStreams(chain, 4, wait), std::vector<int>(chain.size(), 0));
  }
}

// The second branch would end later than the first with its two waits.
TEST(AssignStreams, ShortBranchesAreNotWorthTheirWaits) {
  EXPECT_EQ(StreamsUsed(Launches({{2, {}}, {2, {0}}, {2, {0}}, {2, {1, 2}}}),
                        AssignStreams(Launches({{2, {}}, {2, {0}}, {2, {0}}, {2, {1, 2}}}), 4, kWait)),
            1);
  EXPECT_EQ(AssignStreams(Launches({{2, {}}, {20, {0}}, {20, {0}}, {2, {1, 2}}}), 4, kWait),
            (std::vector<int>{0, 0, 1, 1}));
}

// 1x1; 1x1 and 3x3; 1x1 and 5x5; pool and 1x1; one behind the other in program order, then what joins them.
TEST(AssignStreams, TheBranchesOfAnInceptionBlockSpread) {
  const std::vector<StreamWork> block = Launches(
      {{3, {}}, {40, {0}}, {10, {0}}, {50, {2}}, {10, {0}}, {60, {4}}, {20, {0}}, {20, {6}}, {3, {1, 3, 5, 7}}});
  const std::vector<int> streams = AssignStreams(block, 4, kWait);
  EXPECT_EQ((std::set<int>{streams[1], streams[3], streams[5], streams[7]}), (std::set<int>{0, 1, 2, 3}));
  EXPECT_EQ(streams[2], streams[3]);
  EXPECT_EQ(streams[4], streams[5]);
  EXPECT_EQ(streams[6], streams[7]);
  // The longest path: all on the stream that has the higher priority.
  for (const int launch : {0, 4, 5, 8}) EXPECT_EQ(streams[launch], 0) << launch;
  EXPECT_EQ(StepSeconds(block, streams, kWait), 3 + 10 + 60 + 3);
}

TEST(AssignStreams, CollectivesAndTheHostHaveTheirOwn) {
  std::vector<StreamWork> work = Launches({{0, {}}, {9, {0}}, {30, {0}}, {4, {1}}, {9, {2, 3}}, {0, {4}}});
  work[0].lane = work[5].lane = Lane::kHost;
  work[3].lane = Lane::kCollective;
  for (const int compute_streams : {1, 2, 4}) {
    const std::vector<int> streams = AssignStreams(work, compute_streams, kWait);
    EXPECT_EQ(streams[0], compute_streams + 1);
    EXPECT_EQ(streams[5], compute_streams + 1);
    EXPECT_EQ(streams[3], compute_streams);
    EXPECT_EQ(StreamsUsed(work, streams), compute_streams == 1 ? 1 : 2);
  }
}

TEST(AssignStreams, MoreStreamsMakeNoStepLonger) {
  int spread = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const std::vector<StreamWork> work = RandomWork(seed, 60, true);
    double before = StepSeconds(work, AssignStreams(work, 1, kWait), kWait);
    for (const int compute_streams : {2, 3, 4}) {
      const std::vector<int> streams = AssignStreams(work, compute_streams, kWait);
      ASSERT_EQ(streams, AssignStreams(work, compute_streams, kWait)) << "seed " << seed;
      const double seconds = StepSeconds(work, streams, kWait);
      ASSERT_LE(seconds, before) << "seed " << seed << ", " << compute_streams << " streams";
      before = seconds;
      spread += StreamsUsed(work, streams) > 1;
    }
  }
  EXPECT_GT(spread, 500);
}

// At worst so many times as long as the best of all streams.
constexpr double kFromBest = 1.4;

TEST(AssignStreams, TheStepIsNearTheShortestThereIs) {
  double worst = 1, sum = 0;
  constexpr int kGraphs = 150;
  for (uint64_t seed = 0; seed < kGraphs; ++seed) {
    const std::vector<StreamWork> work = RandomWork(seed, 7, false);
    for (const int compute_streams : {2, 3}) {
      const double seconds = StepSeconds(work, AssignStreams(work, compute_streams, kWait), kWait);
      const double ratio = seconds / ShortestStep(work, compute_streams);
      ASSERT_GE(ratio, 1) << "seed " << seed;
      ASSERT_LE(ratio, kFromBest) << "seed " << seed << ", " << compute_streams << " streams";
      worst = std::max(worst, ratio);
      sum += ratio;
    }
  }
  EXPECT_LT(sum / (2 * kGraphs), 1.05) << "worst " << worst;
}

TEST(AssignStreams, ChainsOfAScheduleStayTogether) {
  TestGraph builder({{{"data", 2}}});
  const AxisLayout split = AxisLayout::Split(0);
  std::vector<ValueId> heads;
  for (const char* name : {"a", "b"}) heads.push_back(builder.Op("fill", name, {}, {8}, {split}));
  for (int step = 0; step < 3; ++step) {
    for (int chain = 0; chain < 2; ++chain) {
      const std::string name = (chain == 0 ? "a" : "b") + std::to_string(step);
      heads[chain] = builder.Op("combine", name, {heads[chain]}, {8}, {split});
    }
  }
  builder.Move("all_gather", "data", heads[0], {});
  const Program program = ProgramOf(builder.graph);
  const Schedule schedule = SchedulesOf(program, program.graph(kTrainEntry), {.compute_streams = 2})[0];
  EXPECT_EQ(schedule.streams, 3);
  EXPECT_EQ(schedule.launches[FindLaunch(schedule, "a2@all_gather")].stream, 2);
  EXPECT_EQ(schedule.launches.front().stream, schedule.host_stream());
  EXPECT_EQ(schedule.launches.back().stream, schedule.host_stream());
  const int a = schedule.launches[FindLaunch(schedule, "a")].stream;
  const int b = schedule.launches[FindLaunch(schedule, "b")].stream;
  EXPECT_NE(a, b);
  for (int step = 0; step < 3; ++step) {
    EXPECT_EQ(schedule.launches[FindLaunch(schedule, "a" + std::to_string(step))].stream, a);
    EXPECT_EQ(schedule.launches[FindLaunch(schedule, "b" + std::to_string(step))].stream, b);
  }
}

// By a GPU's speed: waits that cost time, launches that are longer than them.
constexpr MachineSpeed kSlowWaits{.device = {5e10, 5e10, 1e10, 1e-6, /*wait_seconds=*/2e-6},
                                  .collective = {20e-6, 5e9}};

TEST(AssignStreams, EveryRandomScheduleIsProvenAndNeedsItsWaits) {
  int waits = 0;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const Program program = ProgramOf(RandomGraph(seed, 40));
    ScheduleOptions options{.compute_streams = 4};
    if (seed % 2 != 0) options.speed = kSlowWaits;
    Schedule schedule = SchedulesOf(program, program.graph(kTrainEntry), options)[0];
    ASSERT_TRUE(VerifySchedule(schedule).ok()) << VerifySchedule(schedule);
    for (Launch& launch : schedule.launches) {
      const std::vector<int> all = launch.waits;
      for (size_t w = 0; w < all.size(); ++w, ++waits) {
        launch.waits.erase(launch.waits.begin() + static_cast<int64_t>(w));
        ASSERT_FALSE(VerifySchedule(schedule).ok()) << "seed " << seed << ", " << launch.name;
        launch.waits = all;
      }
    }
  }
  EXPECT_GT(waits, 100);
}

// Then freed bytes are given away at once, as with one stream.
TEST(AssignStreams, WhatStaysOnOneStreamIsPlannedAsForOne) {
  TestGraph builder;
  ValueId head = builder.Input("x", {100});
  for (int64_t l = 0; l < 12; ++l) {
    head = builder.Op("combine", "a" + std::to_string(l), {head}, {100});
  }
  const Program program = ProgramOf(builder.graph);
  const Graph& graph = program.graph(kTrainEntry);
  EXPECT_EQ(SchedulesOf(program, graph, {.compute_streams = 4})[0].memory.total,
            SchedulesOf(program, graph, {.compute_streams = 1})[0].memory.total);
}

// The bytes that one stream needs are enough: launches wait for each other where they would not with more.
TEST(AssignStreams, AreWithinTheMemoryOfOneStreamIfTheyMustBe) {
  int larger = 0;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const Program program = ProgramOf(RandomGraph(seed, 60));
    const Graph& graph = program.graph(kTrainEntry);
    const int64_t one = SchedulesOf(program, graph)[0].memory.total;
    larger += SchedulesOf(program, graph, {.compute_streams = 4})[0].memory.total > one;
    const Schedule limited = SchedulesOf(program, graph, {.compute_streams = 4, .memory_limit = one})[0];
    EXPECT_LE(limited.memory.total, one);
    EXPECT_TRUE(VerifySchedule(limited).ok()) << VerifySchedule(limited);
  }
  EXPECT_GT(larger, 0);
}

TEST(AssignStreams, AtLeastOneComputeStreamIsNeeded) {
  const Program program = ProgramOf(TestGraph().graph);
  const absl::Status status =
      MakeSchedule(program, program.graph(kTrainEntry), 0, TestKernels(), {.compute_streams = 0}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace partita
