// A right schedule passes; each way to break it is refused, with the launches and bytes named.
#include "graph/prove/verify_schedule.h"

#include <gtest/gtest.h>

#include "tests/graph/schedule/schedule_testing.h"

namespace partita {
namespace {

// Two ranks, two compute streams, collectives, a bucket, an update: every kind of work.
Schedule RightSchedule() {
  TestGraph builder({{{"data", 2}}});
  const AxisLayout split = AxisLayout::Split(0);
  const AxisLayout partial = AxisLayout::Partial();
  const ValueId x = builder.Input("x", {9, 4}, {split});
  const ValueId w = builder.Parameter("w", {9, 4}, {});
  const ValueId wide = builder.Move("all_gather", "data", x, {});
  const ValueId y = builder.Op("combine", "y", {wide, w}, {9, 4});
  const ValueId a = builder.Op("combine", "a", {y}, {9, 4}, {partial});
  const ValueId b = builder.Op("combine", "b", {y}, {9, 4}, {partial});
  const std::vector<ValueId> sums = builder.Bucket("data", {a, b});
  const ValueId columns = builder.Move("reduce_scatter", "data", builder.Op("combine", "c", {y}, {9, 4}, {partial}),
                                       {AxisLayout::Split(1)});
  const ValueId back = builder.Move("all_gather", "data", columns, {});
  builder.graph.SetUpdate(w, builder.Op("combine", "w.new", {w, sums[0], sums[1], back}, {9, 4}));
  builder.graph.loss = builder.Op("combine", "loss", {y, sums[1]}, {9, 4});
  const Program program = ProgramOf(builder.graph);
  // Collectives that are quick enough for launches beside each other to gain time.
  const MachineSpeed speed{.device = {5e10, 5e10, 1e10, 1e-6, 0}, .collective = {0, 1e9}};
  const ScheduleOptions options{.compute_streams = 2, .speed = speed};
  return SchedulesOf(program, program.graph(kTrainEntry), options, 40)[1];
}

void ExpectRefused(const Schedule& schedule, const std::vector<std::string>& words) {
  const absl::Status status = VerifySchedule(schedule);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  for (const std::string& word : words) {
    EXPECT_NE(std::string(status.message()).find(word), std::string::npos) << "'" << word << "' in " << status;
  }
}

TEST(VerifySchedule, RightSchedulePasses) {
  const absl::Status status = VerifySchedule(RightSchedule());
  EXPECT_TRUE(status.ok()) << status;
}

TEST(VerifySchedule, RemovingAnySingleWaitIsRefused) {
  const Schedule right = RightSchedule();
  int waits = 0;
  for (size_t l = 0; l < right.launches.size(); ++l) {
    for (size_t w = 0; w < right.launches[l].waits.size(); ++w, ++waits) {
      Schedule wrong = right;
      wrong.launches[l].waits.erase(wrong.launches[l].waits.begin() + static_cast<int64_t>(w));
      EXPECT_FALSE(VerifySchedule(wrong).ok())
          << right.launches[l].name << " without wait for " << right.launches[right.launches[l].waits[w]].name;
    }
  }
  EXPECT_GE(waits, 10);
}

TEST(VerifySchedule, RaceNamesBothLaunchesAndTheBytes) {
  Schedule schedule = RightSchedule();
  const int unpack = FindLaunch(schedule, "x@all_gather");
  const int reader = FindLaunch(schedule, "y");
  ASSERT_EQ(schedule.launches[reader].waits, std::vector<int>{unpack});
  schedule.launches[reader].waits.clear();
  const int64_t offset = std::get<CollectiveLaunch>(schedule.launches[unpack].work).output;
  // The step has begun for `y` by nothing but that wait; so give it one.
  schedule.launches[reader].waits = {0};
  ExpectRefused(schedule, {"race", std::to_string(unpack) + " 'x@all_gather' (stream 2) writes",
                           std::to_string(reader) + " 'y' (stream 0) reads", "[" + std::to_string(offset) + ", "});
}

TEST(VerifySchedule, LaunchThatIsNotWaitedForAtTheEndIsRefused) {
  Schedule schedule = RightSchedule();
  schedule.order.clear();  // the verifier knows the step boundary by itself
  schedule.launches.back().waits.clear();
  ExpectRefused(schedule, {"'step end'", "end too early"});
}

TEST(VerifySchedule, BrokenOrderEdgeIsRefused) {
  Schedule schedule = RightSchedule();
  const int a = FindLaunch(schedule, "a");
  const bool beside_b = schedule.launches[a].stream != schedule.launches[FindLaunch(schedule, "b")].stream;
  const std::string other = beside_b ? "b" : "c";
  const int beside = FindLaunch(schedule, other);
  ASSERT_NE(schedule.launches[a].stream, schedule.launches[beside].stream);
  schedule.order.push_back({std::min(a, beside), std::max(a, beside)});
  ExpectRefused(schedule, {"'a'", "'" + other + "'", "declared order"});
  schedule.order.back() = {3, 1000};
  ExpectRefused(schedule, {"order edge 3 -> 1000"});
}

TEST(VerifySchedule, CollectivesOnTwoStreamsWithoutOrderAreRefused) {
  Schedule schedule = RightSchedule();
  for (Launch& launch : schedule.launches) {
    if (std::holds_alternative<HostLaunch>(launch.work)) ++launch.stream;
  }
  ++schedule.streams;
  const int second = FindLaunch(schedule, "a@all_reduce");
  schedule.launches[second].stream = 3;
  schedule.launches.back().waits.push_back(second);
  schedule.order.clear();
  const int third = FindLaunch(schedule, "c@reduce_scatter");
  ASSERT_GT(third, second);
  ExpectRefused(schedule, {"'a@all_reduce'", "'c@reduce_scatter'", "one after the other"});
}

TEST(VerifySchedule, WaitsForLaterOnesOrTheOwnStreamAreRefused) {
  Schedule schedule = RightSchedule();
  const int last = static_cast<int>(schedule.launches.size()) - 1;
  schedule.launches[1].waits = {last};
  ExpectRefused(schedule, {"waits for launch " + std::to_string(last)});
  schedule.launches[1].waits = {1};
  ExpectRefused(schedule, {"waits for launch 1"});
  schedule.launches[1].waits = {-1};
  ExpectRefused(schedule, {"waits for launch -1"});
}

TEST(VerifySchedule, StreamsThatDoNotExistAreRefused) {
  Schedule schedule = RightSchedule();
  schedule.launches[2].stream = schedule.host_stream();
  ExpectRefused(schedule, {"wrong stream"});
  schedule.launches[2].stream = -1;
  ExpectRefused(schedule, {"wrong stream"});
}

TEST(VerifySchedule, UndeclaredAccessIsRefused) {
  Schedule schedule = RightSchedule();
  const int y = FindLaunch(schedule, "y");
  schedule.launches[y].accesses.pop_back();  // the workspace
  ExpectRefused(schedule, {"'y' (stream", "writes", "does not declare"});
}

TEST(VerifySchedule, DeclaredReadDoesNotCoverAWrite) {
  Schedule schedule = RightSchedule();
  for (Access& access : schedule.launches[FindLaunch(schedule, "y")].accesses) access.write = false;
  ExpectRefused(schedule, {"writes", "does not declare"});
}

TEST(VerifySchedule, BytesOutsideTheArenaAreRefused) {
  Schedule schedule = RightSchedule();
  schedule.memory.total -= 1;
  ExpectRefused(schedule, {"of an arena of " + std::to_string(schedule.memory.total)});
}

TEST(VerifySchedule, OperandsThatDoNotMatchTheNodeAreRefused) {
  Schedule schedule = RightSchedule();
  std::get<KernelLaunch>(schedule.launches[FindLaunch(schedule, "y")].work).inputs.push_back(0);
  ExpectRefused(schedule, {"'y'", "other operands"});
}

TEST(VerifySchedule, ReadingWhatNobodyWroteIsRefused) {
  Schedule schedule = RightSchedule();
  schedule.launches.front().accesses.clear();  // the host does not stage x
  ExpectRefused(schedule, {"input 'x'", "is not what the host writes there"});
  schedule.inputs.clear();
  ExpectRefused(schedule, {"'x@all_gather'", "nobody has written"});
}

TEST(VerifySchedule, LifetimesThatMeetShareNoByte) {
  Schedule schedule = RightSchedule();
  schedule.lifetimes.push_back({"stranger", {0, 1}, 1, 2, false});
  ExpectRefused(schedule, {"'stranger' at [0, 1)", "'w' at [0, 144)", "alive at the same time"});
  schedule.lifetimes.back() = {"stranger", {0, 0}, 1, 2, false};
  ExpectRefused(schedule, {"'stranger' lives"});
}

TEST(VerifySchedule, AccessAfterTheEndOfALifeIsRefused) {
  Schedule schedule = RightSchedule();
  for (Lifetime& lifetime : schedule.lifetimes) {
    if (lifetime.persistent || lifetime.last <= lifetime.first || lifetime.name == "x")
      continue;  // staged all the time
    --lifetime.last;
    ExpectRefused(schedule, {"belong to nothing that is alive"});
    ++lifetime.last;
  }
}

// Every launch says what it touches.
TEST(VerifySchedule, AnOperandWithoutATensorIsRefused) {
  Schedule schedule = RightSchedule();
  Launch& y = schedule.launches[FindLaunch(schedule, "y")];
  y.contents[0].tensor = kNoTensor;
  ExpectRefused(schedule, {"'y'", "does not say what it reads"});
  y.contents[0].tensor = static_cast<TensorId>(schedule.tensors.size());
  y.accesses = AccessesOf(y);
  ExpectRefused(schedule, {"'y'", "touches tensor " + std::to_string(schedule.tensors.size())});
}

TEST(VerifySchedule, ResultThatLiesElsewhereIsRefused) {
  Schedule schedule = RightSchedule();
  ASSERT_EQ(schedule.results.size(), 1u);
  schedule.results[0].offset += 64;
  ExpectRefused(schedule, {"result 'loss'", "is not what the host reads there"});
}

// Launch 2 reads `meant` where launch 1 has written `written` over it.
Schedule ForeignRead(TensorId written, TensorId meant) {
  Schedule schedule;
  schedule.tensors = {{"x", 8}, {"y", 8}};
  schedule.memory.total = 8;
  schedule.lifetimes = {{"x", {0, 8}, 0, 3, false}};
  Launch begin, write, read, end;
  begin.name = "begin";
  begin.stream = end.stream = 1;
  begin.work = HostLaunch{true};
  begin.accesses = {{{0, 8}, true, {}, 0, 0}};
  write.name = "write";
  write.work = CopyLaunch{};
  write.accesses = {{{4, 4}, true, {}, written, 0}};
  write.waits = {0};
  read.name = "read";
  read.work = CopyLaunch{};
  read.accesses = {{{0, 8}, false, {}, meant, 0}};
  end.name = "end";
  end.work = HostLaunch{false};
  end.waits = {2};
  schedule.launches = {begin, write, read, end};
  return schedule;
}

TEST(VerifySchedule, ForeignBytesAreNamedWithTheLaunchThatWroteThem) {
  EXPECT_EQ(VerifySchedule(ForeignRead(0, 0)), absl::OkStatus());
  ExpectRefused(ForeignRead(1, 0), {"launch 2 'read' (stream 0) reads 'x' at bytes [0, 4)",
                                    "launch 1 'write' (stream 0) has written 'y'"});
  ExpectRefused(ForeignRead(1, 1), {"reads 'y' at bytes [0, 4)", "no launch has written"});
  ExpectRefused(ForeignRead(0, 1), {"reads 'y' at bytes [0, 4)", "launch 0 'begin' (stream 1) has written 'x'"});
}

TEST(VerifySchedule, AStateThatIsOverwrittenAfterItsUpdateIsRefused) {
  Schedule schedule;
  schedule.tensors = {{"w", 8}, {"w.new", 8}, {"other", 4}};
  schedule.memory.total = 8;
  schedule.states = {{"w", {DType::kF32, {2}, WholeBox({2})}, 0, 0}};
  schedule.carried = {{0, 1}};
  schedule.lifetimes = {{"w", {0, 8}, 0, 3, true}};
  Launch begin, update, read, end;
  begin.name = "begin";
  begin.stream = end.stream = 1;
  begin.work = HostLaunch{true};
  read.name = "read";
  read.work = CopyLaunch{};
  read.accesses = {{{0, 8}, false, {}, 0, 0}};
  read.waits = {0};
  update.name = "update";
  update.work = CopyLaunch{};
  update.accesses = {{{0, 8}, true, {}, 1, 0}};
  end.name = "end";
  end.work = HostLaunch{false};
  end.waits = {2};
  schedule.launches = {begin, read, update, end};
  EXPECT_EQ(VerifySchedule(schedule), absl::OkStatus());
  Schedule wrong = schedule;
  wrong.launches[2].accesses.push_back({{0, 4}, true, {}, 2, 0});
  ExpectRefused(wrong, {"'update'", "writes 'w.new'", "writes 'other'", "may not do so in place"});
  wrong = schedule;
  wrong.carried.clear();  // the update is made where the state has to stay
  ExpectRefused(wrong, {"after the step state 'w' is not 'w'", "launch 2 'update' (stream 0) has written 'w.new'"});
  wrong = schedule;
  std::swap(wrong.launches[1].accesses, wrong.launches[2].accesses);  // the old state is read after its update
  ExpectRefused(wrong, {"launch 2 'update' (stream 0) reads 'w'", "launch 1 'read' (stream 0) has written 'w.new'"});
}

// An op that reads x after it has written y must not write y over x.
TEST(VerifySchedule, InPlaceIsForTheOpToAllow) {
  Schedule schedule = RightSchedule();
  const int y = FindLaunch(schedule, "y");
  auto& kernel = std::get<KernelLaunch>(schedule.launches[y].work);
  ASSERT_EQ(kernel.outputs[0], kernel.inputs[0]);
  kernel.node.op = &TestOp("fill");
  ExpectRefused(schedule, {"'y'", "may not do so in the place of operand 0"});
}

// The second step must not overtake the first: a stream that the host does not wait for may still read its input.
TEST(VerifySchedule, StagingOfTheNextStepWaitsForTheReadersOfThisOne) {
  Schedule schedule;
  schedule.streams = 1;
  schedule.memory.total = 8;
  schedule.lifetimes = {{"x", {0, 8}, 0, 2, false}};
  Launch begin, read, end;
  begin.name = "begin";
  begin.stream = end.stream = 1;
  begin.work = HostLaunch{true};
  begin.accesses = {{{0, 8}, true}};
  read.name = "read";
  read.work = CopyLaunch{};
  read.accesses = {{{4, 4}, false}};
  read.waits = {0};
  end.name = "end";
  end.work = HostLaunch{false};
  end.waits = {1};
  schedule.launches = {begin, read, end};
  EXPECT_TRUE(VerifySchedule(schedule).ok()) << VerifySchedule(schedule);
  schedule.launches[2].waits.clear();
  ExpectRefused(schedule, {"'read'", "'end'"});
}

}  // namespace
}  // namespace partita
