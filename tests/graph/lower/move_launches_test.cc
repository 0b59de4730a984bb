// What a rank launches for a move: counts, what is packed and what is not, which rank sends, and what is refused.
#include <gtest/gtest.h>

#include "tests/graph/schedule/schedule_testing.h"
#include "tests/graph/schedule/short_layouts.h"

namespace partita {
namespace {

using short_layouts::At, short_layouts::P, short_layouts::R, short_layouts::S, short_layouts::W, short_layouts::kGrid,
    short_layouts::kLine;

// The launches of that kind of work on a rank.
template <typename Work>
std::vector<const Work*> WorkOf(const Schedule& schedule) {
  std::vector<const Work*> found;
  for (const Launch& launch : schedule.launches) {
    if (const auto* work = std::get_if<Work>(&launch.work)) found.push_back(work);
  }
  return found;
}

std::vector<Schedule> OneMove(const Mesh& mesh, const std::string& op, Shape shape, AxisLayout from, AxisLayout to,
                              const ScheduleOptions& options = {}) {
  TestGraph builder(mesh);
  const ValueId x = builder.Op("fill", "x", {}, std::move(shape), {std::move(from)});
  builder.Move(op, "data", x, {std::move(to)});
  const Program program = ProgramOf(builder.graph);
  return SchedulesOf(program, program.graph(kTrainEntry), options);
}

TEST(MoveLaunches, CountsOfUnevenBlocks) {
  for (const Schedule& schedule : OneMove(kLine, "reduce_scatter", {10, 2}, P, S(0))) {
    const auto collectives = WorkOf<CollectiveLaunch>(schedule);
    ASSERT_EQ(collectives.size(), 1u);
    EXPECT_EQ(collectives[0]->send_counts, (std::vector<int64_t>{6, 6, 4, 4}));
    EXPECT_EQ(collectives[0]->input_count, 20);
    EXPECT_EQ(collectives[0]->output_count, schedule.rank < 2 ? 6 : 4);
    EXPECT_TRUE(WorkOf<CopyLaunch>(schedule).empty()) << "rows need no packing";
  }
}

TEST(MoveLaunches, CountsOfEmptyBlocks) {
  for (const Schedule& schedule : OneMove(kLine, "gather", {2, 3}, S(0), At(3))) {
    const auto collectives = WorkOf<CollectiveLaunch>(schedule);
    ASSERT_EQ(collectives.size(), 1u) << "a rank that gives nothing takes part";
    const bool gives = schedule.rank < 2;
    EXPECT_EQ(collectives[0]->send_counts, (std::vector<int64_t>{0, 0, 0, gives ? 3 : 0}));
    EXPECT_EQ(collectives[0]->input >= 0, gives);
    EXPECT_EQ(collectives[0]->receive_counts,
              schedule.rank == 3 ? (std::vector<int64_t>{3, 3, 0, 0}) : (std::vector<int64_t>{0, 0, 0, 0}));
  }
}

TEST(MoveLaunches, ColumnsArePackedAndUnpacked) {
  for (const Schedule& schedule : OneMove(kLine, "repartition", {8, 8}, S(0), S(1))) {
    EXPECT_GE(FindLaunch(schedule, "x@repartition/pack"), 0);
    EXPECT_EQ(FindLaunch(schedule, "x@repartition/unpack"), -1) << "received row blocks follow each other";
  }
  for (const Schedule& schedule : OneMove(kLine, "all_gather", {8, 8}, S(1), R)) {
    EXPECT_EQ(FindLaunch(schedule, "x@all_gather/pack"), -1);
    EXPECT_GE(FindLaunch(schedule, "x@all_gather/unpack"), 0);
  }
}

TEST(MoveLaunches, BoxesAreNotPacked) {
  for (const Schedule& schedule : OneMove(kLine, "repartition", {8, 8}, S(0), S(1), {.exchange_boxes = true})) {
    EXPECT_TRUE(WorkOf<CopyLaunch>(schedule).empty());
    const CollectiveLaunch& call = *WorkOf<CollectiveLaunch>(schedule)[0];
    EXPECT_EQ(call.send_boxes[3].box, (Box{{0, 6}, {2, 2}})) << "of two rows, columns 6 and 7";
    EXPECT_EQ(call.receive_boxes[3].box, (Box{{6, 0}, {2, 2}})) << "the last two of eight rows";
    EXPECT_EQ(call.send_counts, (std::vector<int64_t>{4, 4, 4, 4}));
  }
  for (const Schedule& schedule :
       OneMove(kLine, "halo_exchange", {12, 2}, S(0), W(0, "12x3/1-1"), {.exchange_boxes = true})) {
    EXPECT_EQ(WorkOf<CopyLaunch>(schedule).size(), 1u) << "the own part";
    EXPECT_EQ(schedule.lifetimes.size(), 2u) << "no temporaries";
  }
}

// Only ghosts go through the collective; where windows need nothing of a neighbour, nobody meets.
TEST(MoveLaunches, HalosMoveGhostsAlone) {
  const std::vector<Schedule> schedules = OneMove(kLine, "halo_exchange", {12, 2}, S(0), W(0, "12x3/1-1"));
  EXPECT_EQ(WorkOf<CollectiveLaunch>(schedules[0])[0]->send_counts, (std::vector<int64_t>{0, 2, 0, 0}));
  EXPECT_EQ(WorkOf<CollectiveLaunch>(schedules[1])[0]->send_counts, (std::vector<int64_t>{2, 0, 2, 0}));
  for (const Schedule& schedule : OneMove(kLine, "halo_exchange", {10, 2}, S(0), W(0, "4x1/3-0,clipped"))) {
    EXPECT_TRUE(WorkOf<CollectiveLaunch>(schedule).empty()) << "rows 0, 3, 6, 9 of blocks 3, 3, 2, 2";
    EXPECT_EQ(WorkOf<CopyLaunch>(schedule).size(), 1u) << "the others are trimmed";
  }
  for (const Schedule& schedule : OneMove(kLine, "halo_exchange", {8, 2}, S(0), W(0, "4x2/2-0,clipped"))) {
    EXPECT_EQ(schedule.values[0].offset, schedule.values[1].offset) << "a view";
  }
}

TEST(MoveLaunches, ReplicatedSourceIsTakenFromItselfElseFromTheHolderWithLeastToSend) {
  TestGraph builder(kGrid);
  const ValueId x = builder.Op("fill", "x", {}, {4}, {S(0), R});
  builder.Move("repartition", "data,model", x, {R, S(0)});  // ranks 0,1 hold [0,2), ranks 2,3 hold [2,4)
  const Program program = ProgramOf(builder.graph);
  const std::vector<Schedule> schedules = SchedulesOf(program, program.graph(kTrainEntry));
  const auto sends = [&](int rank) { return WorkOf<CollectiveLaunch>(schedules[rank])[0]->send_counts; };
  EXPECT_EQ(sends(0), (std::vector<int64_t>{2, 0, 2, 0}));  // itself, and rank 2, which wants [0,2)
  EXPECT_EQ(sends(1), (std::vector<int64_t>{0, 0, 0, 0}));
  EXPECT_EQ(sends(2), (std::vector<int64_t>{0, 2, 0, 0}));
  EXPECT_EQ(sends(3), (std::vector<int64_t>{0, 0, 0, 2}));
}

TEST(MoveLaunches, BroadcastRootKeepsItsBytes) {
  const std::vector<Schedule> schedules = OneMove(kLine, "broadcast", {3}, At(2), R);
  EXPECT_EQ(schedules[2].values[0].offset, schedules[2].values[1].offset);
  const CollectiveLaunch& other = *WorkOf<CollectiveLaunch>(schedules[1])[0];
  EXPECT_EQ(other.input, -1);
  EXPECT_EQ(other.input_count, 0);
  EXPECT_EQ(other.output_count, 3);
  EXPECT_EQ(other.root, 2);
}

TEST(MoveLaunches, GroupOfOneMovesNothing) {
  for (const char* op : {"all_reduce", "reduce_scatter"}) {
    const std::vector<Schedule> schedules =
        OneMove({{{"data", 1}}}, op, {3}, P, std::string(op) == "all_reduce" ? R : S(0));
    EXPECT_TRUE(WorkOf<CollectiveLaunch>(schedules[0]).empty());
    EXPECT_EQ(schedules[0].values[0].offset, schedules[0].values[1].offset);
  }
}

// What the first rank says that finds something wrong.
absl::Status LoweringError(const Mesh& mesh, const std::string& op, AxisLayout from, AxisLayout to,
                           bool groups = true) {
  TestGraph builder(mesh);
  builder.Move(op, "data", builder.Op("fill", "x", {}, {4}, {std::move(from)}), {std::move(to)});
  Program program = ProgramOf(builder.graph);
  if (!groups) program.groups.clear();
  for (int rank = 0; rank < mesh.size(); ++rank) {
    const absl::Status status = MakeSchedule(program, program.graph(kTrainEntry), rank, TestKernels()).status();
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

TEST(MoveLaunches, LayoutsThatDoNotFitAreRefusedByName) {
  const absl::Status status = LoweringError(kLine, "all_gather", P, R);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_NE(std::string(status.message()).find("'x@all_gather': all_gather over 'data'"), std::string::npos) << status;
  EXPECT_FALSE(LoweringError(kLine, "all_reduce", R, R).ok());
  EXPECT_FALSE(LoweringError(kLine, "all_reduce", P, S(0)).ok());
  EXPECT_FALSE(LoweringError(kLine, "broadcast", R, At(1)).ok());
  EXPECT_FALSE(LoweringError(kLine, "slice_move", S(0), R).ok());
}

TEST(MoveLaunches, MissingGroupIsRefused) {
  const absl::Status status = LoweringError(kLine, "all_reduce", P, R, false);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_NE(std::string(status.message()).find("no group over 'data'"), std::string::npos) << status;
}

}  // namespace
}  // namespace partita
