#include "graph/schedule/box_copy.h"

#include <gtest/gtest.h>

namespace partita {
namespace {

TEST(RunStart, RowsAreOneRunAndColumnsAreNot) {
  const Box whole = WholeBox({4, 6});
  EXPECT_EQ(RunStart({{2, 0}, {2, 6}}, whole), 12);
  EXPECT_EQ(RunStart({{0, 2}, {4, 2}}, whole), std::nullopt);
  EXPECT_EQ(RunStart({{3, 2}, {1, 4}}, whole), 20);  // a part of one row
  EXPECT_EQ(RunStart({{0, 0}, {1, 1}}, whole), 0);
}

TEST(RunStart, CountsFromTheBeginningOfTheOuterBox) { EXPECT_EQ(RunStart({{5, 0}, {2, 6}}, {{4, 0}, {4, 6}}), 6); }

TEST(RunStart, OuterDimensionsOfOneIndexMayBePartial) {
  EXPECT_EQ(RunStart({{1, 1, 0}, {1, 2, 5}}, WholeBox({3, 4, 5})), 25);
  EXPECT_EQ(RunStart({{1, 1, 0}, {2, 2, 5}}, WholeBox({3, 4, 5})), std::nullopt);
}

TEST(RunStart, ScalarIsOneRun) { EXPECT_EQ(RunStart(WholeBox({}), WholeBox({})), 0); }

TEST(FollowEachOther, EmptyBlocksAndNothingAreSkipped) {
  const Box whole = WholeBox({4, 2});
  const std::vector<HeldBox> rows = {Box{{0, 0}, {3, 2}}, std::nullopt, Box{{3, 0}, {0, 2}}, Box{{3, 0}, {1, 2}}};
  EXPECT_TRUE(FollowEachOther(rows, whole));
}

TEST(FollowEachOther, GapsOtherOrdersAndRepetitionsAreNot) {
  const Box whole = WholeBox({4, 2});
  const Box first{{0, 0}, {2, 2}};
  const Box second{{2, 0}, {2, 2}};
  EXPECT_FALSE(FollowEachOther({second}, whole));
  EXPECT_FALSE(FollowEachOther({second, first}, whole));
  EXPECT_FALSE(FollowEachOther({first, first}, whole));
  EXPECT_TRUE(FollowEachOther({first, second}, whole));
}

TEST(PackCopies, BlocksLieOneAfterTheOther) {
  const Box whole{{0, 10}, {2, 4}};
  const std::vector<BoxCopy> copies =
      PackCopies({Box{{0, 10}, {2, 3}}, std::nullopt, Box{{0, 13}, {2, 1}}}, whole, DType::kF32);
  ASSERT_EQ(copies.size(), 2u);
  EXPECT_EQ(copies[0].to, 0);
  EXPECT_EQ(copies[1].to, 24);
  EXPECT_EQ(copies[1].from_start, (Shape{0, 3}));
  EXPECT_EQ(copies[1].to_start, (Shape{0, 0}));
  EXPECT_EQ(copies[1].to_shape, (Shape{2, 1}));
}

}  // namespace
}  // namespace partita
