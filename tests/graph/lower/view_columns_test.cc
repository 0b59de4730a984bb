// Slices and concats that are no launches any more: what goes and what stays, and that nothing else changes.
#include "graph/lower/view_columns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "graph/prove/verify_schedule.h"
#include "tests/graph/schedule/interpreter.h"
#include "tests/graph/schedule/schedule_testing.h"

namespace partita {
namespace {

Schedule ViewedOn(const Graph& graph, int streams = 1) {
  const Program program = ProgramOf(graph);
  return SchedulesOf(program, program.graph(kTrainEntry), {.compute_streams = streams}, 0, true)[0];
}

const KernelLaunch& KernelAt(const Schedule& schedule, const std::string& name) {
  return std::get<KernelLaunch>(schedule.launches[FindLaunch(schedule, name)].work);
}

void ExpectProven(const Schedule& schedule) {
  const absl::Status status = VerifySchedule(schedule);
  EXPECT_TRUE(status.ok()) << status;
}

void ExpectRefused(const Schedule& schedule, const std::vector<std::string>& words) {
  const absl::Status status = VerifySchedule(schedule);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  for (const std::string& word : words) {
    EXPECT_NE(std::string(status.message()).find(word), std::string::npos) << "'" << word << "' in " << status;
  }
}

TEST(ViewColumns, ASliceIsReadWhereItLies) {
  TestGraph builder;
  const ValueId x = builder.Op("fill", "x", {}, {3, 5});
  builder.Op("combine", "c", {builder.Slice("a", x, 0, 2)}, {3, 2});
  builder.Op("combine", "d", {builder.Slice("b", x, 2, 3)}, {3, 3});
  const Schedule schedule = ViewedOn(builder.graph);
  EXPECT_EQ(FindLaunch(schedule, "a"), -1);
  EXPECT_EQ(FindLaunch(schedule, "b"), -1);
  const KernelLaunch& d = KernelAt(schedule, "d");
  EXPECT_EQ(d.node.within, (std::vector<Box>{{{0, -2}, {3, 5}}, WholeBox({3, 3})}));
  const int64_t at = KernelAt(schedule, "x").outputs[0];
  EXPECT_EQ(d.inputs[0], at);
  const TensorId rows = schedule.launches[FindLaunch(schedule, "x")].contents[0].tensor;
  const Access read{{at + 8, 2 * 20 + 12}, false, {20, (at + 8) % 20, 12}, rows, at};
  EXPECT_EQ(schedule.launches[FindLaunch(schedule, "d")].accesses[0], read);
  EXPECT_EQ(read.bytes(), 36);
  ExpectProven(schedule);
}

// a and b are made on streams of their own and side by side in y, of which c reads the part that was a.
Graph TwoBranches() {
  TestGraph builder;
  const ValueId a = builder.Op("combine", "a", {builder.Op("fill", "x", {}, {4, 2})}, {4, 2});
  const ValueId b = builder.Op("combine", "b", {builder.Op("fill", "z", {}, {4, 3})}, {4, 3});
  const ValueId y = builder.Concat("y", {a, b});
  builder.Op("combine", "c", {a}, {4, 2});
  builder.graph.loss = builder.Op("combine", "d", {y}, {4, 5});
  return std::move(builder.graph);
}

TEST(ViewColumns, InputsOfAConcatAreMadeInPlaceAndSideBySide) {
  const Schedule schedule = ViewedOn(TwoBranches(), 2);
  EXPECT_EQ(FindLaunch(schedule, "y"), -1);
  const int a = FindLaunch(schedule, "a"), b = FindLaunch(schedule, "b"), d = FindLaunch(schedule, "d");
  const int64_t y = KernelAt(schedule, "d").inputs[0];
  EXPECT_EQ(KernelAt(schedule, "a").outputs[0], y);
  EXPECT_EQ(KernelAt(schedule, "b").outputs[0], y);
  EXPECT_EQ(KernelAt(schedule, "c").inputs[0], y);
  EXPECT_NE(schedule.launches[a].stream, schedule.launches[b].stream);
  EXPECT_EQ(std::ranges::count(schedule.launches[b].waits, a), 0);
  const auto lives = std::ranges::find_if(schedule.lifetimes, [&](const Lifetime& l) { return l.name == "y"; });
  ASSERT_NE(lives, schedule.lifetimes.end());
  EXPECT_EQ(lives->first, std::min(a, b));
  EXPECT_GE(lives->last, d);
  ExpectProven(schedule);
}

TEST(ViewColumns, ColumnsOfColumnsAreThoseOfTheWidestRows) {
  TestGraph builder;
  const ValueId x = builder.Op("fill", "x", {}, {3, 7});
  const ValueId outer = builder.Slice("outer", x, 1, 5);
  const ValueId a = builder.Op("combine", "a", {builder.Slice("inner", outer, 2, 2)}, {3, 2});
  const ValueId b = builder.Op("combine", "b", {outer}, {3, 5});
  const ValueId left = builder.Concat("left", {b, a});
  builder.graph.loss = builder.Op("combine", "c", {builder.Concat("all", {x, left})}, {3, 14});
  const Schedule schedule = ViewedOn(builder.graph, 2);
  for (const char* name : {"outer", "inner", "left", "all"}) EXPECT_EQ(FindLaunch(schedule, name), -1) << name;
  const int64_t all = KernelAt(schedule, "c").inputs[0];
  for (const char* name : {"x", "a", "b"}) EXPECT_EQ(KernelAt(schedule, name).outputs[0], all) << name;
  EXPECT_EQ(KernelAt(schedule, "a").node.within, (std::vector<Box>{{{0, -3}, {3, 14}}, {{0, -12}, {3, 14}}}));
  EXPECT_EQ(KernelAt(schedule, "b").node.within, (std::vector<Box>{{{0, -1}, {3, 14}}, {{0, -7}, {3, 14}}}));
  ExpectProven(schedule);
}

TEST(ViewColumns, AConflictOfColumnsIsFound) {
  const Schedule right = ViewedOn(TwoBranches(), 2);
  const int a = FindLaunch(right, "a"), b = FindLaunch(right, "b");
  Schedule wrong = right;
  auto& kernel = std::get<KernelLaunch>(wrong.launches[b].work);
  kernel.node.within[1].offset[1] = -1;  // the last column of a is the first of b
  ExpectRefused(wrong, {"'b'", "and does not declare it"});
  wrong.launches[b].accesses = AccessesOf(wrong.launches[b]);
  ExpectRefused(wrong, {"race", "'a'", "'b'"});

  wrong = right;  // b writes nothing
  std::erase_if(wrong.launches[b].accesses, [](const Access& access) { return access.write; });
  std::get<KernelLaunch>(wrong.launches[b].work).outputs[0] = -1;
  ExpectRefused(wrong, {"'d'", "reads bytes", "nobody has written"});

  wrong = right;  // d begins before the branch on the other stream has ended
  Launch& d = wrong.launches[FindLaunch(right, "d")];
  const std::string other = d.stream == right.launches[a].stream ? "'b'" : "'a'";
  ASSERT_NE(right.launches[a].stream, right.launches[b].stream);
  wrong.launches.back().waits.insert(wrong.launches.back().waits.end(), d.waits.begin(), d.waits.end());
  d.waits.clear();
  ExpectRefused(wrong, {"race", other, "'d'"});
}

TEST(ViewColumns, WhoWantsDenseBytesGetsThem) {
  TestGraph builder({{{"data", 2}}});
  const ValueId x = builder.Op("fill", "x", {}, {4, 6});
  builder.Op("combine", "of_moved",
             {builder.Move("slice_move", "data", builder.Slice("moved", x, 0, 3), {AxisLayout::Split(0)})}, {4, 3},
             {AxisLayout::Split(0)});
  builder.Slice("of_slice", builder.Slice("sliced", x, 0, 4), 0, 2);
  builder.graph.metrics = {builder.Slice("reported", x, 1, 2)};
  const ValueId refused = builder.Op("fill", "twice", {}, {4, 2});
  builder.Op("combine", "of_twice", {builder.Concat("doubled", {refused, refused})}, {4, 4});
  builder.Op("combine", "of_x", {builder.Concat("with_input", {builder.Input("i", {4, 1}), refused})}, {4, 3});
  const Schedule schedule = ViewedOn(builder.graph);
  for (const char* name : {"moved", "sliced", "reported", "doubled", "with_input"}) {
    EXPECT_GE(FindLaunch(schedule, name), 0) << name;
  }
  ExpectProven(schedule);
}

TEST(ViewColumns, WithoutKernelsThatTakeColumnsNothingChanges) {
  const Program program = ProgramOf(TwoBranches());
  const Schedule schedule = SchedulesOf(program, program.graph(kTrainEntry))[0];
  EXPECT_GE(FindLaunch(schedule, "y"), 0);
  for (const Launch& launch : schedule.launches) {
    const auto* const kernel = std::get_if<KernelLaunch>(&launch.work);
    EXPECT_TRUE(kernel == nullptr || kernel->node.within.empty()) << launch.name;
  }
}

// Tensors of 5 rows; slices, concats and sums of recent values, some of them reported or new states.
Graph RandomColumns(uint64_t seed) {
  std::mt19937_64 random(seed);
  TestGraph builder;
  std::vector<ValueId> values = {builder.Input("x", {5, 6}), builder.Parameter("w", {5, 4})};
  const auto pick = [&] { return values[values.size() - 1 - random() % std::min<size_t>(values.size(), 7)]; };
  const auto width = [&](ValueId value) { return builder.graph.type(value).shape[1]; };
  for (int n = 0; n < 40; ++n) {
    const std::string name = "n" + std::to_string(n);
    const ValueId x = pick();
    if (random() % 4 == 0 && width(x) > 1) {
      const auto size = static_cast<int64_t>(1 + random() % (width(x) - 1));
      values.push_back(builder.Slice(name, x, static_cast<int64_t>(random() % (width(x) - size + 1)), size));
    } else if (const ValueId y = pick(); random() % 3 == 0 && width(x) + width(y) < 24) {
      values.push_back(builder.Concat(name, {x, y}));
    } else {
      values.push_back(builder.Op("combine", name, {x}, {5, width(x)}));
    }
  }
  const auto same = std::ranges::find_if(values.rbegin(), values.rend(), [&](ValueId v) { return width(v) == 4; });
  builder.graph.SetUpdate(values[1], *same);
  builder.graph.metrics = {values.back(), pick()};
  return std::move(builder.graph);
}

// The reported values and the state after two steps.
std::vector<std::vector<float>> ResultsOf(const Program& program, const std::vector<Schedule>& schedules,
                                          uint64_t seed) {
  const Schedule& schedule = schedules[0];
  std::vector<std::vector<float>> results;
  Interpreter interpreter(program, schedules);
  interpreter.Write(0, schedule.states[0].offset, std::vector<float>(20, 3));
  for (int step = 0; step < 2; ++step) {
    interpreter.after = [&](int rank, int launch) {
      if (launch != 0 || schedule.inputs[0].offset < 0) return;
      std::vector<float> x(30);
      for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * (step + 1) % 11);
      interpreter.Write(rank, schedule.inputs[0].offset, x);
    };
    EXPECT_TRUE(interpreter.Step(seed + step));
    for (const Placement& result : schedule.results) {
      results.push_back(interpreter.Read(0, result.offset, result.tensor.elements()));
    }
  }
  results.push_back(interpreter.Read(0, schedule.states[0].offset, 20));
  return results;
}

TEST(ViewColumns, RandomGraphsComputeTheSameInAnyOrder) {
  size_t launches = 0, gone = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Program program = ProgramOf(RandomColumns(seed));
    const Graph& graph = program.graph(kTrainEntry);
    const std::vector<Schedule> dense = SchedulesOf(program, graph);
    const ScheduleOptions options{.compute_streams = 1 + static_cast<int>(seed % 3)};
    const std::vector<Schedule> viewed = SchedulesOf(program, graph, options, seed % 2 == 0 ? 0 : 100, true);
    ExpectProven(viewed[0]);
    EXPECT_EQ(ResultsOf(program, viewed, seed), ResultsOf(program, dense, seed)) << "seed " << seed;
    launches += dense[0].launches.size();
    gone += dense[0].launches.size() - viewed[0].launches.size();
  }
  EXPECT_GT(gone, launches / 20);
}

TEST(ViewColumns, EachWaitIsNecessary) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    Schedule schedule = ViewedOn(RandomColumns(seed), 3);
    for (Launch& launch : schedule.launches) {
      const std::vector<int> all = launch.waits;
      for (size_t w = 0; w < all.size(); ++w) {
        launch.waits.erase(launch.waits.begin() + static_cast<int64_t>(w));
        EXPECT_FALSE(VerifySchedule(schedule).ok()) << "seed " << seed << " " << launch.name;
        launch.waits = all;
      }
    }
  }
}

}  // namespace
}  // namespace partita
