// Which values share bytes.
#include "graph/plan/storage.h"

#include <gtest/gtest.h>

#include "graph/prove/verify_schedule.h"
#include "tests/graph/schedule/interpreter.h"
#include "tests/graph/schedule/schedule_testing.h"

namespace partita {
namespace {

const Mesh kPair{{{"data", 2}}};
const AxisLayout P = AxisLayout::Partial();

std::vector<Schedule> Schedules(const Graph& graph) {
  const Program program = ProgramOf(graph);
  std::vector<Schedule> schedules = SchedulesOf(program, program.graph(kTrainEntry));
  for (const Schedule& schedule : schedules) {
    const absl::Status status = VerifySchedule(schedule);
    EXPECT_TRUE(status.ok()) << status;
  }
  return schedules;
}

TEST(Storage, ChainRunsInPlace) {
  TestGraph builder;
  ValueId x = builder.Op("fill", "x", {}, {100});
  for (const char* name : {"a", "b", "c"}) x = builder.Op("combine", name, {x}, {100});
  const Schedule schedule = Schedules(builder.graph)[0];
  for (const ValuePlacement& value : schedule.values) EXPECT_EQ(value.offset, schedule.values[0].offset);
  EXPECT_EQ(schedule.memory.total, 400);
}

TEST(Storage, InputThatIsReadLaterIsNotOverwritten) {
  TestGraph builder;
  const ValueId x = builder.Op("fill", "x", {}, {100});
  const ValueId a = builder.Op("combine", "a", {x}, {100});
  builder.Op("combine", "b", {a, x}, {100});
  const Schedule schedule = Schedules(builder.graph)[0];
  EXPECT_NE(schedule.values[a].offset, schedule.values[x].offset);
  EXPECT_EQ(schedule.values[2].offset, schedule.values[a].offset);
}

TEST(Storage, InputReadTwiceByOneLaunchIsNotOverwritten) {
  TestGraph builder;
  const ValueId x = builder.Op("fill", "x", {}, {100});
  builder.Op("combine", "a", {x, x}, {100});  // in place of operand 0, but operand 1 reads the same bytes
  const Schedule schedule = Schedules(builder.graph)[0];
  EXPECT_NE(schedule.values[1].offset, schedule.values[0].offset);
}

// As GroupUpdates joins launches: one member may be made in the place of what another one reads.
TEST(Storage, InputThatAJoinedLaunchReadsOtherwiseIsNotOverwritten) {
  for (const bool twice : {false, true}) {
    LocalProgram program;
    const TensorId x = program.AddTensor({8, MemoryKind::kActivation, "x"});
    const TensorId y = program.AddTensor({8, MemoryKind::kActivation, "y"});
    const TensorId other = program.AddTensor({8, MemoryKind::kActivation, "other"});
    LocalKernel make, joined;
    make.outputs = {{x}, {other}};
    joined.inputs = {{x}, {twice ? x : other}};
    joined.outputs = {{y}};
    program.launches.resize(2);
    program.launches[0].work = make;
    program.launches[1].work = joined;
    program.launches[1].in_place = {{x, y}};
    const StoragePlan plan = AssignStorage(program);
    EXPECT_EQ(plan.storage_of[y] == plan.storage_of[x], !twice);
  }
}

// b could be made in the place of a, but a waits there to be summed.
TEST(Storage, BucketMemberIsNotOverwrittenBeforeItsSum) {
  TestGraph builder(kPair);
  const ValueId a = builder.Op("fill", "a", {}, {6}, {P}, {{"partial", true}});
  const ValueId b = builder.Op("combine", "b", {a}, {6}, {P});
  const ValueId c = builder.Op("fill", "c", {}, {6}, {P}, {{"partial", true}});
  const std::vector<ValueId> sums = builder.Bucket("data", {a, c});
  builder.graph.metrics = {sums[0], sums[1], builder.Op("combine", "late", {b, sums[0]}, {6})};
  const Program program = ProgramOf(builder.graph);
  const std::vector<Schedule> schedules = Schedules(builder.graph);
  Interpreter interpreter(program, schedules);
  ASSERT_TRUE(interpreter.Step(3));
  for (const Schedule& schedule : schedules) {
    EXPECT_EQ(FindLaunch(schedule, "a@all_reduce/pack"), -1);
    EXPECT_NE(schedule.values[a].offset, schedule.values[b].offset);
    const std::vector<float> sum = interpreter.Read(schedule.rank, schedule.results[0].offset, 6);
    for (size_t i = 0; i < sum.size(); ++i) EXPECT_EQ(sum[i], 3000 + 2 * static_cast<float>(i));
  }
}

TEST(Storage, OneInputGivesItsPlaceOnce) {
  TestGraph builder;
  const ValueId x = builder.Op("fill", "x", {}, {100});
  const ValueId y = builder.Op("fill", "y", {}, {100});
  const std::vector<ValueId> twins = builder.Twin("t", x, y);
  const Schedule schedule = Schedules(builder.graph)[0];
  EXPECT_EQ(schedule.values[twins[0]].offset, schedule.values[x].offset);
  EXPECT_EQ(schedule.values[twins[1]].offset, schedule.values[y].offset);
}

TEST(Storage, ViewIsTheSameBytesAndKeepsThemAlive) {
  TestGraph builder;
  const ValueId x = builder.Op("fill", "x", {}, {4, 25});
  const ValueId view = builder.Op("reshape", "view", {x}, {100});
  const ValueId a = builder.Op("combine", "a", {x}, {4, 25});
  builder.Op("combine", "b", {view}, {100});
  const Schedule schedule = Schedules(builder.graph)[0];
  EXPECT_EQ(schedule.values[view].offset, schedule.values[x].offset);
  EXPECT_NE(schedule.values[a].offset, schedule.values[x].offset);
}

TEST(Storage, StagedInputsAreNeverOverwritten) {
  TestGraph builder;
  const ValueId x = builder.Input("x", {100});
  builder.Op("combine", "a", {x}, {100});
  const Schedule schedule = Schedules(builder.graph)[0];
  EXPECT_NE(schedule.values[1].offset, schedule.values[0].offset);
  ASSERT_EQ(schedule.inputs.size(), 1u);
  EXPECT_EQ(schedule.inputs[0].offset, schedule.values[0].offset);
}

TEST(Storage, UpdateIsMadeInThePlaceOfItsState) {
  TestGraph builder;
  const ValueId w = builder.Parameter("w", {100});
  builder.graph.SetUpdate(w, builder.Op("combine", "w.new", {w}, {100}));
  const Schedule schedule = Schedules(builder.graph)[0];
  EXPECT_EQ(schedule.values[1].offset, schedule.states[0].offset);
  EXPECT_EQ(FindLaunch(schedule, "store states"), -1);
  EXPECT_EQ(schedule.memory.total, 400);
}

TEST(Storage, UpdateThatDoesNotReadTheStateIsMadeInItsPlaceAfterTheLastReader) {
  TestGraph builder;
  const ValueId w = builder.Parameter("w", {100});
  const ValueId y = builder.Op("combine", "y", {w}, {100});
  builder.graph.SetUpdate(w, builder.Op("combine", "w.new", {kNoValue, y}, {100}));
  const Schedule schedule = Schedules(builder.graph)[0];
  EXPECT_EQ(schedule.values[2].offset, schedule.states[0].offset);
}

TEST(Storage, UpdateBeforeALaterReaderOfTheOldStateIsStoredAtTheEnd) {
  TestGraph builder;
  const ValueId w = builder.Parameter("w", {100});
  builder.graph.SetUpdate(w, builder.Op("combine", "w.new", {w}, {100}));
  builder.Op("combine", "late", {w}, {100});
  const Schedule schedule = Schedules(builder.graph)[0];
  EXPECT_NE(schedule.values[1].offset, schedule.states[0].offset);
  EXPECT_GT(FindLaunch(schedule, "store states"), FindLaunch(schedule, "late"));
}

TEST(Storage, StatesMaySwapAndAStateMayBeReportedAsItWas) {
  TestGraph builder;
  const ValueId a = builder.State("a", {3});
  const ValueId b = builder.State("b", {3});
  builder.graph.SetUpdate(a, b);
  builder.graph.SetUpdate(b, a);
  builder.graph.metrics = {a};
  const Program program = ProgramOf(builder.graph);
  const std::vector<Schedule> schedules = SchedulesOf(program, program.graph(kTrainEntry), {.compute_streams = 3});
  ASSERT_TRUE(VerifySchedule(schedules[0]).ok());
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Interpreter interpreter(program, schedules);
    const std::vector<float> one = {1, 1, 1}, two = {2, 2, 2};
    interpreter.Write(0, schedules[0].states[0].offset, one);
    interpreter.Write(0, schedules[0].states[1].offset, two);
    ASSERT_TRUE(interpreter.Step(seed));
    EXPECT_EQ(interpreter.Read(0, schedules[0].states[0].offset, 3), two);
    EXPECT_EQ(interpreter.Read(0, schedules[0].states[1].offset, 3), one);
    EXPECT_EQ(interpreter.Read(0, schedules[0].results[0].offset, 3), one);
  }
}

TEST(Storage, UpdateOfAnotherLayoutIsRefused) {
  TestGraph builder(kPair);
  const ValueId w = builder.Parameter("w", {4});
  builder.graph.SetUpdate(w, builder.Op("combine", "w.new", {}, {4}, {AxisLayout::Split(0)}));
  const Program program = ProgramOf(builder.graph);
  const absl::Status status = MakeSchedule(program, program.graph(kTrainEntry), 0, TestKernels()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_NE(std::string(status.message()).find("'w' and its update 'w.new'"), std::string::npos) << status;
}

TEST(Storage, BucketMembersAreMadeInsideTheBucket) {
  TestGraph builder(kPair);
  std::vector<ValueId> gradients;
  for (int64_t size : {3, 5, 7}) {
    gradients.push_back(builder.Op("fill", "g" + std::to_string(size), {}, {size}, {P}, {{"partial", true}}));
  }
  const std::vector<ValueId> sums = builder.Bucket("data", gradients);
  for (size_t i = 0; i < sums.size(); ++i)
    builder.Op("combine", "u" + std::to_string(i), {sums[i]}, builder.graph.type(sums[i]).shape);
  for (const Schedule& schedule : Schedules(builder.graph)) {
    EXPECT_EQ(FindLaunch(schedule, "g3@all_reduce/pack"), -1);
    const int launch = FindLaunch(schedule, "g3@all_reduce");
    ASSERT_GE(launch, 0);
    const auto& collective = std::get<CollectiveLaunch>(schedule.launches[launch].work);
    EXPECT_EQ(collective.input, collective.output);
    EXPECT_EQ(collective.input_count, 15) << "the members' elements and no padding";
    EXPECT_EQ(schedule.values[gradients[1]].offset, collective.input + 12);
    EXPECT_EQ(schedule.values[sums[2]].offset, collective.input + 32);
    EXPECT_EQ(schedule.values[sums[2]].launch, launch);
  }
}

// What writes a gradient is fast at multiples of 16 bytes alone: a member of 12 bytes shifts none that could lie at
// one.
TEST(Storage, BucketMembersThatFillVectorsBeginAtThem) {
  TestGraph builder(kPair);
  std::vector<ValueId> gradients;
  for (int64_t size : {3, 4, 5, 8}) {
    gradients.push_back(builder.Op("fill", "g" + std::to_string(size), {}, {size}, {P}, {{"partial", true}}));
  }
  const std::vector<ValueId> sums = builder.Bucket("data", gradients);
  for (size_t i = 0; i < sums.size(); ++i)
    builder.Op("combine", "u" + std::to_string(i), {sums[i]}, builder.graph.type(sums[i]).shape);
  for (const Schedule& schedule : Schedules(builder.graph)) {
    const int launch = FindLaunch(schedule, "g3@all_reduce");
    ASSERT_GE(launch, 0);
    const auto& collective = std::get<CollectiveLaunch>(schedule.launches[launch].work);
    EXPECT_EQ(collective.input_count, 20) << "the members' elements and no padding";
    const std::vector<int64_t> places = {48, 0, 60, 16};
    for (size_t m = 0; m < places.size(); ++m) {
      EXPECT_EQ(schedule.values[gradients[m]].offset, collective.input + places[m]) << m;
      EXPECT_EQ(schedule.values[sums[m]].offset, collective.input + places[m]) << m;
    }
  }
}

TEST(Storage, BucketMemberThatIsReadLaterIsCopiedIntoIt) {
  TestGraph builder(kPair);
  const ValueId a = builder.Op("fill", "a", {}, {3}, {P}, {{"partial", true}});
  const ValueId b = builder.Op("fill", "b", {}, {5}, {P}, {{"partial", true}});
  const std::vector<ValueId> sums = builder.Bucket("data", {a, b, a});
  builder.Op("combine", "late", {b}, {5}, {P});
  for (ValueId sum : sums) builder.graph.metrics.push_back(sum);
  const Program program = ProgramOf(builder.graph);
  const std::vector<Schedule> schedules = SchedulesOf(program, program.graph(kTrainEntry));
  const int pack = FindLaunch(schedules[0], "a@all_reduce/pack");
  ASSERT_GE(pack, 0);
  EXPECT_EQ(std::get<CopyLaunch>(schedules[0].launches[pack].work).copies.size(), 2u) << "b, and a for the second time";
  Interpreter interpreter(program, schedules);
  ASSERT_TRUE(interpreter.Step(7));
  for (const Schedule& schedule : schedules) {
    EXPECT_TRUE(VerifySchedule(schedule).ok());
    for (const Placement& result : schedule.results) {
      const std::vector<float> sum = interpreter.Read(schedule.rank, result.offset, result.tensor.elements());
      for (size_t i = 0; i < sum.size(); ++i) EXPECT_EQ(sum[i], 3000 + 2 * static_cast<float>(i)) << result.name;
    }
  }
}

}  // namespace
}  // namespace partita
