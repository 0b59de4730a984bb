#include "graph/plan/memory_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "graph/prove/verify_schedule.h"
#include "runtime/base/alignment.h"
#include "tests/graph/schedule/schedule_testing.h"

namespace partita {
namespace {

std::vector<Interval> RandomIntervals(uint64_t seed, int count) {
  std::mt19937_64 random(seed);
  std::vector<Interval> intervals;
  for (int i = 0; i < count; ++i) {
    const int first = static_cast<int>(random() % 100);
    intervals.push_back({static_cast<int64_t>(1 + random() % 1000), first, first + static_cast<int>(random() % 20)});
  }
  return intervals;
}

TEST(Pack, NoTwoLiveIntervalsOverlap) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const std::vector<Interval> intervals = RandomIntervals(seed, 60);
    const int64_t gap = seed % 3 * 64;
    const Packing packing = Pack(intervals, gap);
    for (size_t i = 0; i < intervals.size(); ++i) {
      ASSERT_EQ(packing.offsets[i] % kAlignment, 0);
      ASSERT_GE(packing.offsets[i], 0);
      ASSERT_LE(packing.offsets[i] + intervals[i].bytes + gap, packing.bytes);
      for (size_t j = 0; j < i; ++j) {
        if (intervals[i].last < intervals[j].first || intervals[j].last < intervals[i].first) continue;
        const bool apart = packing.offsets[i] + intervals[i].bytes + gap <= packing.offsets[j] ||
                           packing.offsets[j] + intervals[j].bytes + gap <= packing.offsets[i];
        ASSERT_TRUE(apart) << "seed " << seed << ": intervals " << i << " and " << j;
      }
    }
  }
}

TEST(Pack, PeakIsAtLeastWhatIsAliveAndNotMuchMore) {
  double worst = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const std::vector<Interval> intervals = RandomIntervals(seed, 300);
    int64_t most = 0;
    int64_t most_aligned = 0;
    for (int t = 0; t < 120; ++t) {
      int64_t live = 0;
      int64_t aligned = 0;
      for (const Interval& interval : intervals) {
        if (interval.first > t || interval.last < t) continue;
        live += interval.bytes;
        aligned += AlignUp(interval.bytes);
      }
      most = std::max(most, live);
      most_aligned = std::max(most_aligned, aligned);
    }
    const int64_t peak = Pack(intervals, 0).bytes;
    ASSERT_GE(peak, most);
    worst = std::max(worst, static_cast<double>(peak) / static_cast<double>(most_aligned));
  }
  EXPECT_LT(worst, 1.25);
}

TEST(Pack, FollowersTakeTheSameBytes) {
  const Packing packing = Pack({{100, 0, 1}, {100, 2, 3}, {100, 4, 5}}, 0);
  EXPECT_EQ(packing.offsets, (std::vector<int64_t>{0, 0, 0}));
  EXPECT_EQ(packing.bytes, 100);
}

TEST(Pack, ManyIntervalsTakeTheLinearWay) {
  const std::vector<Interval> intervals = RandomIntervals(1, 5000);
  const Packing packing = Pack(intervals, 0);
  for (size_t i = 0; i < intervals.size(); i += 7) {
    for (size_t j = 0; j < i; ++j) {
      if (intervals[i].last < intervals[j].first || intervals[j].last < intervals[i].first) continue;
      ASSERT_TRUE(packing.offsets[i] + intervals[i].bytes <= packing.offsets[j] ||
                  packing.offsets[j] + intervals[j].bytes <= packing.offsets[i]);
    }
  }
}

Graph TwoLayers() {
  TestGraph builder;
  ValueId x = builder.Input("x", {1000});
  const ValueId w = builder.Parameter("w", {50});
  const ValueId slot = builder.State("w@momentum", {70});
  for (const char* name : {"h1", "h2"}) x = builder.Op("combine", name, {x}, {1000});
  const std::vector<ValueId> updates = builder.Twin("update", w, slot);
  builder.graph.SetUpdate(w, updates[0]);
  builder.graph.SetUpdate(slot, updates[1]);
  builder.graph.loss = x;
  return builder.graph;
}

TEST(PlanMemory, PartsAddUpToTheHighestByteTouched) {
  const Program program = ProgramOf(TwoLayers());
  for (int64_t workspace : {0, 10, 100000}) {
    const Schedule schedule = SchedulesOf(program, program.graph(kTrainEntry), {}, workspace)[0];
    const MemoryUse& use = schedule.memory;
    EXPECT_EQ(use.parameters + use.states + use.inputs + use.activations + use.workspace, use.total);
    EXPECT_EQ(use.parameters, AlignUp(200));
    EXPECT_EQ(use.states, AlignUp(280));
    EXPECT_EQ(use.inputs, AlignUp(4000));
    int64_t highest = 0;
    for (const Launch& launch : schedule.launches) {
      for (const Access& access : launch.accesses)
        highest = std::max(highest, access.range.offset + access.range.bytes);
    }
    EXPECT_EQ(highest, use.total);
  }
}

TEST(PlanMemory, StatesLieAtTheSamePlacesInBothEntryPoints) {
  Program program = ProgramOf(TwoLayers());
  TestGraph evaluate;
  const ValueId x = evaluate.Input("other", {8});
  const ValueId w = evaluate.Parameter("w", {50});
  evaluate.Op("combine", "y", {x}, {8});
  evaluate.Op("combine", "z", {w}, {50});
  program.entries[1] = MakeEntryPoint(kEvaluateEntry, evaluate.graph);
  const Schedule train = SchedulesOf(program, program.graph(kTrainEntry))[0];
  const Schedule other = SchedulesOf(program, program.graph(kEvaluateEntry))[0];
  ASSERT_EQ(train.states.size(), 2u);
  ASSERT_EQ(other.states.size(), 2u) << "also those that the entry point does not use";
  for (int s = 0; s < 2; ++s) {
    EXPECT_EQ(train.states[s].name, other.states[s].name);
    EXPECT_EQ(train.states[s].offset, other.states[s].offset);
  }
  EXPECT_EQ(OffsetOf(other, program.graph(kEvaluateEntry), "w"), train.states[0].offset);
  EXPECT_EQ(OffsetOf(other, program.graph(kEvaluateEntry), "nobody"), -1);
  EXPECT_TRUE(VerifySchedule(other).ok());
}

TEST(PlanMemory, LimitIsKeptOrRefusedWithTheLargestTensorsAndARepair) {
  const Program program = ProgramOf(TwoLayers());
  const int64_t needed = SchedulesOf(program, program.graph(kTrainEntry))[0].memory.total;
  ScheduleOptions options;
  options.memory_limit = needed;
  EXPECT_TRUE(MakeSchedule(program, program.graph(kTrainEntry), 0, TestKernels(), options).ok());
  options.memory_limit = needed - 1;
  const absl::Status status = MakeSchedule(program, program.graph(kTrainEntry), 0, TestKernels(), options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  const std::string message(status.message());
  EXPECT_NE(message.find(std::to_string(needed) + " bytes of memory are needed"), std::string::npos) << message;
  EXPECT_NE(message.find("limit is " + std::to_string(needed - 1)), std::string::npos) << message;
  EXPECT_NE(message.find("'h1' 4000 (activation)"), std::string::npos) << message;
  EXPECT_NE(message.find("'x' 4000 (staged input)"), std::string::npos) << message;
  EXPECT_NE(message.find("smaller batch or more data-parallel ranks"), std::string::npos) << message;
}

TEST(PlanMemory, ParametersThatDominateAreToBeSplit) {
  TestGraph builder;
  builder.Parameter("w", {1000});
  const Program program = ProgramOf(builder.graph);
  ScheduleOptions options;
  options.memory_limit = 1;
  const absl::Status status = MakeSchedule(program, program.graph(kTrainEntry), 0, TestKernels(), options).status();
  EXPECT_NE(std::string(status.message()).find("model axis"), std::string::npos) << status;
}

TEST(PlanMemory, GuardsStandBetweenAllThatLives) {
  const Program program = ProgramOf(RandomGraph(5, 60));
  ScheduleOptions options;
  options.guard_bytes = 1;
  const Schedule schedule = SchedulesOf(program, program.graph(kTrainEntry), options, 30)[0];
  EXPECT_TRUE(VerifySchedule(schedule).ok());
  for (const Lifetime& a : schedule.lifetimes) {
    EXPECT_GE(a.range.offset, kAlignment);
    EXPECT_LE(a.range.offset + a.range.bytes, schedule.memory.total - 1);
    for (const Lifetime& b : schedule.lifetimes) {
      if (&a == &b || a.last < b.first || b.last < a.first || b.range.offset < a.range.offset) continue;
      EXPECT_GE(b.range.offset, a.range.offset + a.range.bytes + 1) << a.name << " and " << b.name;
    }
  }
}

TEST(PlanMemory, WithoutReuseNoTwoStoragesShareAByte) {
  const Program program = ProgramOf(RandomGraph(6, 60));
  ScheduleOptions options;
  options.reuse_memory = false;
  const Schedule schedule = SchedulesOf(program, program.graph(kTrainEntry), options, 30)[0];
  EXPECT_TRUE(VerifySchedule(schedule).ok());
  EXPECT_GT(schedule.memory.total, SchedulesOf(program, program.graph(kTrainEntry), {}, 30)[0].memory.total);
  std::vector<ByteRange> ranges;
  for (const Lifetime& lifetime : schedule.lifetimes) ranges.push_back(lifetime.range);
  std::sort(ranges.begin(), ranges.end(), [](const ByteRange& a, const ByteRange& b) { return a.offset < b.offset; });
  for (size_t i = 0; i + 1 < ranges.size(); ++i) EXPECT_LE(ranges[i].offset + ranges[i].bytes, ranges[i + 1].offset);
}

}  // namespace
}  // namespace partita
