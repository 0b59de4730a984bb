#include "graph/prove/verify_collectives.h"

#include <gtest/gtest.h>

#include "tests/graph/schedule/schedule_testing.h"

namespace partita {
namespace {

const AxisLayout R = AxisLayout::Replicate();
const AxisLayout P = AxisLayout::Partial();
const AxisLayout S0 = AxisLayout::Split(0);

// Collectives of every kind over both axes of a 2 x 2 mesh and over their joined set.
struct Meetings {
  explicit Meetings(bool exchange_boxes = false) {
    TestGraph builder({{{"data", 2}, {"model", 2}}});
    const auto fill = [&](const char* name, Layout layout) {
      return builder.Op("fill", name, {}, {6}, std::move(layout));
    };
    builder.Move("all_reduce", "data", fill("a", {P, R}), {R, R});
    builder.Move("all_reduce", "model", fill("b", {R, P}), {R, R});
    builder.Move("all_gather", "data", fill("c", {S0, R}), {R, R});
    builder.Move("reduce_scatter", "data,model", fill("d", {P, P}), {S0, S0});
    builder.Move("broadcast", "model", fill("e", {R, AxisLayout::At(1)}), {R, R});
    builder.Move("sum_reduce", "data", fill("f", {P, R}), {AxisLayout::At(0), R});
    builder.Move("scatter", "data", fill("g", {AxisLayout::At(1), R}), {S0, R});
    program = ProgramOf(builder.graph);
    schedules = SchedulesOf(program, program.graph(kTrainEntry), {.exchange_boxes = exchange_boxes});
  }

  CollectiveLaunch& At(int rank, const std::string& name) {
    return std::get<CollectiveLaunch>(schedules[rank].launches[FindLaunch(schedules[rank], name)].work);
  }

  void ExpectRefused(const std::vector<std::string>& words) const {
    const absl::Status status = VerifyCollectives(program, schedules);
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
    for (const std::string& word : words) {
      EXPECT_NE(std::string(status.message()).find(word), std::string::npos) << "'" << word << "' in " << status;
    }
  }

  Program program;
  std::vector<Schedule> schedules;
};

TEST(VerifyCollectives, RightProgramPasses) {
  const Meetings meetings;
  const absl::Status status = VerifyCollectives(meetings.program, meetings.schedules);
  EXPECT_TRUE(status.ok()) << status;
}

TEST(VerifyCollectives, SwappingAnyTwoNeighboursOfOneRankIsRefused) {
  const Meetings right;
  int swaps = 0;
  for (int rank = 0; rank < 4; ++rank) {
    std::vector<size_t> collectives;
    const auto& launches = right.schedules[rank].launches;
    for (size_t l = 0; l < launches.size(); ++l) {
      if (std::holds_alternative<CollectiveLaunch>(launches[l].work)) collectives.push_back(l);
    }
    for (size_t c = 0; c + 1 < collectives.size(); ++c, ++swaps) {
      Meetings wrong = right;
      std::swap(wrong.schedules[rank].launches[collectives[c]], wrong.schedules[rank].launches[collectives[c + 1]]);
      EXPECT_FALSE(VerifyCollectives(wrong.program, wrong.schedules).ok()) << "rank " << rank << " at " << c;
    }
  }
  EXPECT_EQ(swaps, 24);
}

// 0 is at {0,2}, 2 at {2,3}, 3 at {1,3}, 1 at {0,1}.
TEST(VerifyCollectives, RingOfGroupsThatWaitForEachOtherNamesBoth) {
  Meetings wrong;
  for (int rank : {1, 2}) {
    auto& launches = wrong.schedules[rank].launches;
    std::swap(launches[FindLaunch(wrong.schedules[rank], "a@all_reduce")],
              launches[FindLaunch(wrong.schedules[rank], "b@all_reduce")]);
  }
  wrong.ExpectRefused({"no order of the collectives", "'a@all_reduce'", "of rank 0", "'b@all_reduce'", "rank 2"});
}

// Rank 3 alone meets {2,3} before {1,3}: nobody would hang, but the program says otherwise.
TEST(VerifyCollectives, OneRankThatLeavesTheProgramsOrderIsRefused) {
  Meetings wrong;
  auto& launches = wrong.schedules[3].launches;
  std::swap(launches[FindLaunch(wrong.schedules[3], "a@all_reduce")],
            launches[FindLaunch(wrong.schedules[3], "b@all_reduce")]);
  wrong.ExpectRefused({"'b@all_reduce'", "'a@all_reduce'", "of rank 3", "not the order of the program"});
}

TEST(VerifyCollectives, DifferentKindsAreRefused) {
  Meetings wrong;
  wrong.At(2, "a@all_reduce").kind = CollectiveKind::kReduce;
  wrong.ExpectRefused({"data{0,2}", "rank 0", "rank 2", "kinds differ"});
}

TEST(VerifyCollectives, DifferentTypesAreRefused) {
  Meetings wrong;
  wrong.At(2, "a@all_reduce").dtype = DType::kF64;
  wrong.ExpectRefused({"f32 and f64"});
}

TEST(VerifyCollectives, DifferentReductionsAreRefused) {
  Meetings wrong;
  wrong.At(3, "b@all_reduce").reduction = Reduction::kMax;
  wrong.ExpectRefused({"reductions differ", "rank 2", "rank 3"});
}

TEST(VerifyCollectives, DifferentCountsAreRefused) {
  Meetings wrong;
  wrong.At(2, "a@all_reduce").input_count = wrong.At(2, "a@all_reduce").output_count = 5;
  wrong.ExpectRefused({"counts 6 and 5"});
}

// Replicas share the schedule of one of them; each meets in groups of its own.
TEST(VerifyCollectives, SharedSchedulesAreProvenOfEveryRank) {
  TestGraph builder({{{"data", 3}, {"model", 2}}});
  builder.Move("all_gather", "model", builder.Op("fill", "a", {}, {6, 4}, {S0, AxisLayout::Split(1)}), {S0, R});
  builder.Move("all_reduce", "data", builder.Op("fill", "b", {}, {6}, {P, R}), {R, R});
  const Program program = ProgramOf(builder.graph);
  const Graph& graph = program.graph(kTrainEntry);
  const FoldedSchedules folded = *MakeFoldedSchedules(program, graph, TestKernels());
  std::vector<const Schedule*> by_rank = folded.ByRank();
  ASSERT_EQ(by_rank[4], by_rank[0]);
  EXPECT_EQ(VerifyCollectives(program, by_rank), absl::OkStatus());

  const auto with = [&](Schedule of_4) {
    by_rank[4] = &of_4;
    return std::string(VerifyCollectives(program, by_rank).message());
  };
  const std::vector<int> rank_4 = {4};
  const Schedule own = SchedulesOfRanks(program, graph, folded, rank_4)[0];
  const auto gather = static_cast<size_t>(FindLaunch(own, "a@all_gather"));
  EXPECT_EQ(with(own), "");
  Schedule elsewhere = own;
  std::get<CollectiveLaunch>(elsewhere.launches[gather].work).group =
      std::get<CollectiveLaunch>(folded.schedules[0].launches[gather].work).group;
  EXPECT_NE(with(elsewhere).find("where the rank is no member"), std::string::npos) << with(elsewhere);
  Schedule larger = own;
  for (int64_t& count : std::get<CollectiveLaunch>(larger.launches[gather].work).send_counts) ++count;
  EXPECT_NE(with(larger).find("do not fit its kind"), std::string::npos) << with(larger);
  Schedule shorter = own;
  shorter.launches.erase(shorter.launches.begin() + static_cast<std::ptrdiff_t>(gather));
  EXPECT_NE(with(shorter), "");

  Program without = program;
  const GroupKey key = program.groups[std::get<CollectiveLaunch>(own.launches[gather].work).group].key;
  for (CommunicationGroup& group : without.groups) {
    if (group.key == key && group.ranks[0] == 4) group.ranks = {0, 1};
  }
  const std::string refusal(VerifyCollectives(without, folded.ByRank()).message());
  EXPECT_NE(refusal.find("where the rank is no member"), std::string::npos) << refusal;
}

TEST(VerifyCollectives, DifferentBlocksAreRefused) {
  Meetings wrong;
  wrong.At(1, "d@reduce_scatter").send_counts = {2, 1, 1, 2};
  wrong.ExpectRefused({"data,model{0,1,2,3}", "blocks differ"});
}

TEST(VerifyCollectives, DifferentRootsAreRefused) {
  Meetings wrong;
  wrong.At(1, "e@broadcast").root = 0;
  wrong.ExpectRefused({"roots 1 and 0"});
}

TEST(VerifyCollectives, CountsThatDoNotFitTheKindAreRefused) {
  Meetings wrong;
  wrong.At(0, "c@all_gather").input_count = 2;
  wrong.ExpectRefused({"'c@all_gather'", "do not fit"});
}

TEST(VerifyCollectives, PairsThatDoNotAgreeAreRefused) {
  Meetings wrong;
  wrong.At(2, "g@scatter").send_counts[0] = 2;
  wrong.At(2, "g@scatter").input_count -= 1;
  wrong.ExpectRefused({"rank 2 sends 2, rank 0 expects 3"});
}

TEST(VerifyCollectives, BoxesThatDoNotFitAreRefused) {
  const Meetings right(true);
  const absl::Status status = VerifyCollectives(right.program, right.schedules);
  EXPECT_TRUE(status.ok()) << status;
  const auto sent = [](Meetings& meetings) -> Box& { return meetings.At(2, "g@scatter").send_boxes[0].box; };
  Meetings outside(true);
  sent(outside).offset[0] = 4;
  outside.ExpectRefused({"'g@scatter'", "do not fit"});
  Meetings smaller(true);
  sent(smaller).size[0] = 2;
  smaller.ExpectRefused({"'g@scatter'", "do not fit"});
  Meetings packed(true);
  CollectiveLaunch& call = packed.At(2, "g@scatter");
  call.send_boxes.clear();
  call.receive_boxes.clear();
  packed.ExpectRefused({"'g@scatter'", "one of them exchanges boxes"});
  Meetings turned(true);
  PlacedBox& placed = turned.At(2, "g@scatter").send_boxes[0];
  placed = {0, {1, 3}, {{0, 0}, {1, 3}}};
  turned.ExpectRefused({"rank 2 sends a box [1,3], rank 0 expects [3]"});
}

TEST(VerifyCollectives, MissingCollectiveIsRefused) {
  Meetings wrong;
  auto& launches = wrong.schedules[1].launches;
  launches.erase(launches.begin() + FindLaunch(wrong.schedules[1], "g@scatter"));
  wrong.ExpectRefused({"'g@scatter'", "rank 3", "waits for rank 1", "no more collectives"});
}

TEST(VerifyCollectives, StrangersInAGroupAreRefused) {
  Meetings wrong;
  const int group = wrong.At(1, "a@all_reduce").group;
  wrong.At(0, "a@all_reduce").group = group;
  wrong.ExpectRefused({"data{1,3}", "no member"});
  wrong.At(0, "a@all_reduce").group = 99;
  wrong.ExpectRefused({"group 99"});
}

TEST(VerifyCollectives, EveryRankHasASchedule) {
  Meetings wrong;
  std::swap(wrong.schedules[0], wrong.schedules[1]);
  wrong.ExpectRefused({"schedule 0 is of rank 1"});
  wrong.schedules.pop_back();
  wrong.ExpectRefused({"3 schedules for 4 ranks"});
}

}  // namespace
}  // namespace partita
