// Whole schedules, run in random legal orders: every value, update and result is what the graph says.
#include "graph/make_schedule.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "graph/prove/verify_collectives.h"
#include "graph/prove/verify_schedule.h"
#include "tests/graph/schedule/interpreter.h"
#include "tests/graph/schedule/schedule_testing.h"
#include "tests/graph/schedule/schedule_text.h"

namespace partita {
namespace {

// What one step computes on one rank, straight from the graph.
std::vector<std::vector<float>> Reference(const Graph& graph, const std::vector<std::vector<float>>& given) {
  std::vector<std::vector<float>> values = given;
  for (const Node& node : graph.nodes()) {
    if (node.op->name == "reshape") values[node.outputs[0]] = values[node.inputs[0]];
    if (node.op->name != "combine" && node.op->name != "twin") continue;
    for (size_t o = 0; o < node.outputs.size(); ++o) {
      std::vector<float>& output = values[node.outputs[o]];
      output.assign(Elements(graph.type(node.outputs[o]).shape), 0);
      for (size_t i = 0; i < output.size(); ++i) {
        std::vector<float> inputs;
        for (ValueId input : node.inputs) inputs.push_back(values[input][i]);
        output[i] = Combined(graph.value(node.outputs[0]).name, static_cast<int>(o), inputs);
      }
    }
  }
  return values;
}

class RandomGraphs : public testing::TestWithParam<int> {};

TEST_P(RandomGraphs, ComputeWhatTheGraphSaysInAnyOrder) {
  const auto seed = static_cast<uint64_t>(GetParam());
  const Program program = ProgramOf(RandomGraph(seed, 50));
  const Graph& graph = program.graph(kTrainEntry);
  const ScheduleOptions options{.compute_streams = 1 + GetParam() % 3};
  const std::vector<Schedule> schedules = SchedulesOf(program, graph, options, seed % 2 == 0 ? 0 : 100);
  const Schedule& schedule = schedules[0];
  const absl::Status status = VerifySchedule(schedule);
  ASSERT_TRUE(status.ok()) << status;

  std::vector<std::vector<float>> given(graph.values().size());
  Interpreter interpreter(program, schedules);
  for (const Placement& state : schedule.states) {
    given[graph.Find(state.name)].assign(state.tensor.elements(), static_cast<float>(state.offset % 97));
    interpreter.Write(0, state.offset, given[graph.Find(state.name)]);
  }
  for (uint64_t step = 0; step < 3; ++step) {
    for (const Placement& input : schedule.inputs) {
      given[graph.Find(input.name)].assign(input.tensor.elements(), static_cast<float>(step * 7 + 1));
    }
    const std::vector<std::vector<float>> values = Reference(graph, given);
    interpreter.after = [&](int rank, int launch) {
      if (launch == 0) {
        for (const Placement& input : schedule.inputs)
          interpreter.Write(rank, input.offset, given[graph.Find(input.name)]);
      }
      for (size_t v = 0; v < schedule.values.size(); ++v) {
        const ValuePlacement& placement = schedule.values[v];
        if (placement.launch != launch) continue;
        ASSERT_EQ(interpreter.Read(rank, placement.offset, placement.tensor.elements()), values[v])
            << graph.value(static_cast<ValueId>(v)).name;
      }
    };
    ASSERT_TRUE(interpreter.Step(seed * 31 + step));
    for (const Placement& result : schedule.results) {
      EXPECT_EQ(interpreter.Read(0, result.offset, result.tensor.elements()), values[graph.Find(result.name)]);
    }
    for (const State& state : graph.states()) {
      const std::string& name = graph.value(state.value).name;
      const int64_t offset = OffsetOf(schedule, graph, name);
      given[state.value] = values[state.update];
      EXPECT_EQ(interpreter.Read(0, offset, static_cast<int64_t>(given[state.value].size())), given[state.value])
          << name;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, RandomGraphs, testing::Range(0, 60));

// The chain of bytes is checked by the race of the interpreter's random orders; here that each wait is needed by proof.
class Waits : public testing::TestWithParam<int> {};

TEST_P(Waits, EachIsNecessary) {
  const Program program = ProgramOf(RandomGraph(static_cast<uint64_t>(GetParam()), 50));
  Schedule schedule = SchedulesOf(program, program.graph(kTrainEntry), {.compute_streams = 3})[0];
  for (Launch& launch : schedule.launches) {
    const std::vector<int> all = launch.waits;
    for (size_t w = 0; w < all.size(); ++w) {
      launch.waits.erase(launch.waits.begin() + static_cast<int64_t>(w));
      EXPECT_FALSE(VerifySchedule(schedule).ok());
      launch.waits = all;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, Waits, testing::Range(0, 10));

// With several streams bytes are not given away at once, but where the device has no room for that.
TEST(Streams, TakeNoMoreMemoryThanTheDeviceHas) {
  int tighter = 0;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const Program program = ProgramOf(RandomGraph(seed, 50));
    const Graph& graph = program.graph(kTrainEntry);
    const int64_t roomy = SchedulesOf(program, graph, {.compute_streams = 3})[0].memory.total;
    const Schedule tight = SchedulesOf(program, graph, {.compute_streams = 3, .device_bytes = roomy - 1})[0];
    EXPECT_TRUE(VerifySchedule(tight).ok());
    EXPECT_LE(tight.memory.total, roomy);
    if (tight.memory.total < roomy) ++tighter;
    EXPECT_EQ(SchedulesOf(program, graph, {.compute_streams = 3, .device_bytes = roomy})[0].memory.total, roomy);
  }
  EXPECT_GE(tighter, 8);
}

// 7 rows over 2 x 2 ranks: blocks of 2, 2, 2 and 1; one value on one rank only.
TEST(MakeSchedules, RanksThatSharePlansAreAsIfPlannedAlone) {
  TestGraph builder({{{"data", 2}, {"model", 2}}});
  const AxisLayout S0 = AxisLayout::Split(0), R = AxisLayout::Replicate(), P = AxisLayout::Partial();
  const ValueId w = builder.Parameter("w", {7, 3}, {S0, S0});
  const ValueId g = builder.Op("fill", "g", {}, {7, 3}, {S0, S0});
  const ValueId sum =
      builder.Move("all_reduce", "data", builder.Op("fill", "p", {}, {5}, {P, R}, {{"partial", true}}), {R, R});
  builder.Op("combine", "alone", {builder.Move("drop", "model", sum, {R, AxisLayout::At(1)})}, {5},
             {R, AxisLayout::At(1)});
  builder.graph.SetUpdate(w, builder.Op("combine", "w.new", {w, g}, {7, 3}, {S0, S0}));
  const Program program = ProgramOf(builder.graph);
  for (const int streams : {1, 2}) {
    const ScheduleOptions options{.compute_streams = streams};
    const absl::StatusOr<std::vector<Schedule>> together =
        MakeSchedules(program, program.graph(kTrainEntry), TestKernels(16), options);
    ASSERT_TRUE(together.ok()) << together.status();
    ASSERT_EQ(together->size(), 4u);
    for (int rank = 0; rank < 4; ++rank) {
      const absl::StatusOr<Schedule> alone =
          MakeSchedule(program, program.graph(kTrainEntry), rank, TestKernels(16), options);
      ASSERT_TRUE(alone.ok()) << alone.status();
      EXPECT_EQ(ToText((*together)[rank]), ToText(*alone));
    }
    EXPECT_NE(ToText((*together)[0]), ToText((*together)[3]));
  }
}

// How often a kernel was chosen: once for each kernel launch of each schedule that is made.
class CountingKernels : public TestKernels {
 public:
  absl::StatusOr<KernelChoice> Choose(const LocalNode& node) const override {
    ++count;
    return TestKernels::Choose(node);
  }
  mutable int count = 0;
};

// Samples over `data`, and on each of `stages` a value that no other has.
Program Replicas(int data, int stages, int64_t samples) {
  TestGraph builder({{{"data", data}, {"stage", stages}}});
  const AxisLayout S0 = AxisLayout::Split(0), R = AxisLayout::Replicate(), P = AxisLayout::Partial();
  const ValueId x = builder.Input("x", {samples, 3}, {S0, R});
  builder.Op("combine", "y", {x}, {samples, 3}, {S0, R});
  builder.Move("all_reduce", "data", builder.Op("fill", "p", {}, {5}, {P, R}, {{"partial", true}}), {R, R});
  for (int stage = 0; stages > 1 && stage < stages; ++stage) {
    builder.Op("fill", fmt::format("stage{}", stage), {}, {samples, 2}, {S0, AxisLayout::At(stage)});
  }
  return ProgramOf(builder.graph);
}

FoldedSchedules Folded(const Program& program, const KernelCatalogue& kernels) {
  return *MakeFoldedSchedules(program, program.graph(kTrainEntry), kernels);
}

// Every kind of ranks is planned once, however many kinds and ranks there are.
TEST(MakeFoldedSchedules, WorkAndSizeDoNotGrowWithAlikeRanks) {
  struct Case {
    int data, stages;
    int64_t samples;
    size_t kinds;
  };
  for (const Case& each :
       {Case{2, 1, 8, 1}, Case{4096, 1, 8192, 1}, Case{4096, 1, 8191, 2}, Case{4096, 1, 64, 2},
        Case{16384, 1, 32767, 2}, Case{2, 40, 8, 40}, Case{64, 40, 128, 40}, Case{64, 40, 127, 80}}) {
    SCOPED_TRACE(testing::Message() << each.data << " x " << each.stages << ", " << each.samples << " samples");
    const CountingKernels kernels;
    const Program program = Replicas(each.data, each.stages, each.samples);
    const FoldedSchedules folded = Folded(program, kernels);
    EXPECT_EQ(folded.schedules.size(), each.kinds);
    EXPECT_EQ(folded.of_rank.size(), static_cast<size_t>(each.data * each.stages));
    int launches = 0;
    for (const Schedule& schedule : folded.schedules) {
      for (const Launch& launch : schedule.launches) launches += std::holds_alternative<KernelLaunch>(launch.work);
    }
    EXPECT_EQ(kernels.count, launches);
    EXPECT_EQ(VerifyCollectives(program, folded.ByRank()), absl::OkStatus());
  }
}

// The box of a scalar does not show that other ranks keep it.
TEST(MakeSchedule, AScalarStateOfAnotherRankIsNotHeld) {
  TestGraph builder({{{"data", 2}}});
  const AxisLayout R = AxisLayout::Replicate();
  builder.State("scalar", {}, {AxisLayout::At(1)});
  const ValueId w = builder.Parameter("w", {4}, {R});
  builder.graph.SetUpdate(w, builder.Op("combine", "w.new", {w, builder.Op("fill", "g", {}, {4}, {R})}, {4}, {R}));
  const std::vector<Schedule> schedules = SchedulesOf(ProgramOf(builder.graph), builder.graph);
  EXPECT_EQ(VerifySchedules(schedules), absl::OkStatus());
  EXPECT_EQ(schedules[0].states[0].offset, -1);
  EXPECT_EQ(schedules[0].states[0].content, kNoTensor);
  EXPECT_GE(schedules[1].states[0].offset, 0);
}

// Of chosen ranks, in their order, also of uneven blocks.
TEST(SchedulesOfRanks, AreThoseOfTheRanksPlannedAlone) {
  const Program program = Replicas(7, 3, 16);
  const Graph& graph = program.graph(kTrainEntry);
  const FoldedSchedules folded = Folded(program, TestKernels());
  EXPECT_LT(folded.schedules.size(), 7u);
  const std::vector<int> ranks = {20, 0, 7, 13, 3};
  const std::vector<Schedule> schedules = SchedulesOfRanks(program, graph, folded, ranks);
  ASSERT_EQ(schedules.size(), ranks.size());
  for (size_t r = 0; r < ranks.size(); ++r) {
    EXPECT_EQ(ToText(schedules[r]), ToText(*MakeSchedule(program, graph, ranks[r], TestKernels()))) << ranks[r];
  }
}

// A proof is shared only by what it proves.
TEST(VerifySchedules, AWrongOneAmongEqualsIsFound) {
  TestGraph builder({{{"data", 3}}});
  const ValueId a = builder.Op("fill", "a", {}, {6}, {AxisLayout::Split(0)});
  builder.Op("combine", "b", {a}, {6}, {AxisLayout::Split(0)});
  const Program program = ProgramOf(builder.graph);
  std::vector<Schedule> schedules = SchedulesOf(program, program.graph(kTrainEntry), {.compute_streams = 2}, 64);
  ASSERT_TRUE(VerifySchedules(schedules).ok()) << VerifySchedules(schedules);
  for (size_t rank = 0; rank < schedules.size(); ++rank) {
    std::vector<Schedule> wrong = schedules;
    wrong[rank].lifetimes.pop_back();
    const absl::Status status = VerifySchedules(wrong);
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
    EXPECT_EQ(std::string(status.message()).rfind(fmt::format("rank {}: ", rank), 0), 0u) << status;
  }
}

// Two steps of a data-parallel update with a sharded and a bucketed parameter, on 2 x 2 ranks.
TEST(MakeSchedule, RanksMeetAndAgreeInAnyOrder) {
  TestGraph builder({{{"data", 2}, {"model", 2}}});
  const AxisLayout S0 = AxisLayout::Split(0), R = AxisLayout::Replicate(), P = AxisLayout::Partial();
  const Attributes partial{{"partial", true}};
  const ValueId w = builder.Parameter("w", {5, 3}, {R, S0});
  const ValueId b = builder.Parameter("b", {7}, {R, R});
  const ValueId sharded = builder.Parameter("sharded", {3, 2}, {R, R});
  const ValueId dw = builder.Op("fill", "dw", {}, {5, 3}, {P, S0}, partial);
  const ValueId db = builder.Op("fill", "db", {}, {7}, {P, R}, partial);
  const ValueId ds =
      builder.Move("reduce_scatter", "data", builder.Op("fill", "ds", {}, {3, 2}, {P, R}, partial), {S0, R});
  const std::vector<ValueId> sums = builder.Bucket("data", {dw, db});
  builder.graph.SetUpdate(w, builder.Op("combine", "w.new", {w, sums[0]}, {5, 3}, {R, S0}));
  builder.graph.SetUpdate(b, builder.Op("combine", "b.new", {b, sums[1]}, {7}));
  const ValueId own = builder.Move("slice_move", "data", sharded, {S0, R});
  const ValueId updated = builder.Op("combine", "sharded.shard", {own, ds}, {3, 2}, {S0, R});
  builder.graph.SetUpdate(sharded, builder.Move("all_gather", "data", updated, {R, R}));
  const Program program = ProgramOf(builder.graph);
  const std::vector<Schedule> schedules = SchedulesOf(program, program.graph(kTrainEntry), {.compute_streams = 2}, 64);
  for (const Schedule& schedule : schedules) ASSERT_TRUE(VerifySchedule(schedule).ok()) << VerifySchedule(schedule);
  ASSERT_TRUE(VerifyCollectives(program, schedules).ok());

  std::vector<float> first;
  for (uint64_t seed = 0; seed < 25; ++seed) {
    Interpreter interpreter(program, schedules);
    for (const Schedule& schedule : schedules) {
      for (const Placement& state : schedule.states) {
        interpreter.Write(schedule.rank, state.offset, std::vector<float>(state.tensor.elements(), 1.0f));
      }
    }
    for (uint64_t step = 0; step < 2; ++step) ASSERT_TRUE(interpreter.Step(seed * 2 + step));
    const auto state = [&](int rank, int index) {
      const Placement& placement = schedules[rank].states[index];
      return interpreter.Read(rank, placement.offset, placement.tensor.elements());
    };
    std::vector<float> all;
    for (int rank = 0; rank < 2; ++rank) {
      for (int index = 0; index < 3; ++index) {
        EXPECT_EQ(state(rank, index), state(rank + 2, index)) << "R over data means equal bits";
        const std::vector<float> values = state(rank, index);
        all.insert(all.end(), values.begin(), values.end());
      }
    }
    if (first.empty()) first = all;
    EXPECT_EQ(all, first);
    const float once = Combined("w.new", 0, std::vector<float>{1, 1000 * (1 + 3)});
    EXPECT_EQ(state(0, 0)[0], Combined("w.new", 0, std::vector<float>{once, 1000 * (1 + 3)}));
  }
}

TEST(MakeSchedule, NodeWithoutKernelIsRefusedByTheCataloguesWords) {
  TestGraph builder;
  builder.Op("refused", "odd", {}, {4});
  const Program program = ProgramOf(builder.graph);
  const absl::Status status = MakeSchedule(program, program.graph(kTrainEntry), 0, TestKernels()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(status.message()), "node 'odd': no kernel takes it");
}

TEST(MakeSchedule, RankOffTheMeshIsRefused) {
  const Program program = ProgramOf(TestGraph().graph);
  EXPECT_EQ(MakeSchedule(program, program.graph(kTrainEntry), 1, TestKernels()).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(MakeSchedule(program, program.graph(kTrainEntry), -1, TestKernels()).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(MakeSchedule, StateThatTrainingDoesNotKnowIsRefused) {
  Program program = ProgramOf(TestGraph().graph);
  TestGraph evaluate;
  evaluate.Parameter("w", {3});
  program.entries[1] = MakeEntryPoint(kEvaluateEntry, evaluate.graph);
  const absl::Status status = MakeSchedule(program, program.graph(kEvaluateEntry), 0, TestKernels()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_NE(std::string(status.message()).find("no state 'w'"), std::string::npos) << status;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kManyNodes = 10000;
#else
constexpr int kManyNodes = 100000;
#endif

// How long it takes is for `benchmark compile` to say.
TEST(MakeSchedule, ManyNodesAreNoProblem) {
  const Program program = ProgramOf(RandomGraph(3, kManyNodes));
  const absl::StatusOr<Schedule> schedule =
      MakeSchedule(program, program.graph(kTrainEntry), 0, TestKernels(16), {.compute_streams = 2});
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  EXPECT_EQ(VerifySchedule(*schedule), absl::OkStatus());
}

}  // namespace
}  // namespace partita
