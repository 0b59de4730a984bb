// Which ranks are alike, and that those which only look so are not.
#include "graph/alike/alike_ranks.h"

#include <gtest/gtest.h>

#include "tests/graph/alike/expect_folded.h"
#include "tests/graph/schedule/schedule_testing.h"

namespace partita {
namespace {

const AxisLayout R = AxisLayout::Replicate(), P = AxisLayout::Partial(), S0 = AxisLayout::Split(0);

std::optional<Displacement> Between(const Program& program, int from, int to) {
  const Graph& graph = program.graph(kTrainEntry);
  AlikeRanks alike(program, graph);
  return alike.Between(alike.ShareOf(from), alike.ShareOf(to));
}

// x[0:2], x[2:4], ... of 7: the last block is smaller.
TEST(AlikeRanks, ReplicasAreDisplacedAlongTheirSamples) {
  TestGraph builder({{{"data", 4}}});
  const ValueId x = builder.Input("x", {7, 3}, {S0});
  const ValueId y = builder.Op("combine", "y", {x}, {7, 3}, {S0});
  builder.Move("all_reduce", "data", builder.Op("fill", "p", {}, {5}, {P}, {{"partial", true}}), {R});
  const Program program = ProgramOf(builder.graph);
  const std::optional<Displacement> displacement = Between(program, 0, 2);
  ASSERT_TRUE(displacement);
  EXPECT_EQ(displacement->values[static_cast<size_t>(x)], Shape({4, 0}));
  EXPECT_EQ(displacement->values[static_cast<size_t>(y)], Shape({4, 0}));
  EXPECT_EQ(displacement->groups, (std::map<int, int>{{0, 0}}));
  EXPECT_FALSE(Between(program, 0, 3));
  EXPECT_EQ(ExpectFolded(program, TestKernels(16)), 2 * 2);  // ranks 1 and 2 of both entry points
}

// In groups of their own: ranks 0 and 2 stand at the same places.
TEST(AlikeRanks, PlacesInAGroupMatterWhereRanksGiveDifferentThings) {
  TestGraph builder({{{"data", 2}, {"model", 2}}});
  const ValueId x = builder.Op("fill", "x", {}, {4, 6}, {S0, AxisLayout::Split(1)});
  builder.Move("repartition", "model", x, {S0, S0}, {{"mode", std::string("direct")}, {"chunks", int64_t{1}}});
  const Program program = ProgramOf(builder.graph);
  const std::optional<Displacement> displacement = Between(program, 0, 2);
  ASSERT_TRUE(displacement);
  EXPECT_EQ(displacement->groups.size(), 1u);
  EXPECT_NE(displacement->groups.begin()->first, displacement->groups.begin()->second);
  EXPECT_FALSE(Between(program, 0, 1));
  EXPECT_EQ(ExpectFolded(program, TestKernels()), 2 * 2);
}

// A block of rows is no other block of rows: at the ends of the picture windows see zeros.
TEST(AlikeRanks, RowsOfPicturesAreNotAlike) {
  TestGraph builder({{{"rows", 2}}});
  builder.Op("fill", "x", {}, {2, 8, 4, 3}, {AxisLayout::Split(1)});
  EXPECT_FALSE(Between(ProgramOf(builder.graph), 0, 1));
}

// Each slices its own part of what all have.
TEST(AlikeRanks, PartsOfOneWholeAreNotAlike) {
  TestGraph builder({{{"model", 2}}});
  builder.Move("slice_move", "model", builder.Op("fill", "x", {}, {4, 6}, {R}), {S0});
  EXPECT_FALSE(Between(ProgramOf(builder.graph), 0, 1));
}

// What is on one rank alone is on no other.
TEST(AlikeRanks, APlacedValueIsOnItsRank) {
  TestGraph builder({{{"data", 2}}});
  builder.Op("fill", "x", {}, {4}, {AxisLayout::At(1)});
  EXPECT_FALSE(Between(ProgramOf(builder.graph), 0, 1));
}

}  // namespace
}  // namespace partita
