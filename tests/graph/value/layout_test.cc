#include "graph/value/layout.h"

#include <gtest/gtest.h>

#include <set>

#include "graph/value/mesh.h"
#include "graph/value/shape.h"

namespace partita {
namespace {

const Mesh kTwoByTwo{{{"data", 2}, {"model", 2}}};

TEST(Shape, ElementsAreCheckedAgainstOverflow) {
  EXPECT_EQ(*CheckedElements({}), 1);
  EXPECT_EQ(*CheckedElements({3, 0, 5}), 0);
  EXPECT_EQ(*CheckedElements({64, 28, 28, 1}), 50176);
  EXPECT_FALSE(CheckedElements({-1}).ok());
  EXPECT_FALSE(CheckedElements({int64_t{1} << 31, int64_t{1} << 31}).ok());
  EXPECT_FALSE(CheckedElements({0, int64_t{1} << 62}).ok()) << "an empty tensor's other sizes are sizes too";
}

TEST(Shape, BoxesIntersect) {
  const Box common = Intersect({{0, 2}, {4, 4}}, {{3, 5}, {4, 4}});
  EXPECT_EQ(common.offset, (Shape{3, 5}));
  EXPECT_EQ(common.size, (Shape{1, 1}));
  EXPECT_TRUE(Intersect({{0}, {2}}, {{2}, {2}}).empty());
}

TEST(Mesh, RanksAreRowMajorAndGroupsDifferOnTheirAxesOnly) {
  EXPECT_EQ(kTwoByTwo.Coordinates(2), (std::vector<int>{1, 0}));
  EXPECT_EQ(kTwoByTwo.Rank({1, 1}), 3);
  EXPECT_EQ(kTwoByTwo.Group(2, {0}), (std::vector<int>{0, 2}));
  EXPECT_EQ(kTwoByTwo.Group(3, {0}), (std::vector<int>{1, 3}));
  EXPECT_EQ(kTwoByTwo.Group(3, {1}), (std::vector<int>{2, 3}));
  EXPECT_EQ(kTwoByTwo.Group(3, {0, 1}), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(kTwoByTwo.Group(3, {}), (std::vector<int>{3}));
}

TEST(Layout, TwoAxesOnOneDimensionNest) {
  const Layout nested = {AxisLayout::Split(0), AxisLayout::Split(0)};
  std::vector<int64_t> sizes;
  for (int rank = 0; rank < 4; ++rank) sizes.push_back(LocalBox(nested, {10}, kTwoByTwo, rank)->size[0]);
  EXPECT_EQ(sizes, (std::vector<int64_t>{3, 2, 3, 2}));
}

// Every element lies on exactly one rank, whatever the sizes: fewer elements than ranks leave empty blocks.
TEST(Layout, BlocksTileTheTensor) {
  for (int ranks = 1; ranks <= 5; ++ranks) {
    for (int64_t n = 0; n <= 9; ++n) {
      const Mesh mesh{{{"a", ranks}}};
      int64_t next = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const Box box = *LocalBox({AxisLayout::Split(0)}, {n}, mesh, rank);
        EXPECT_EQ(box.offset[0], next);
        next += box.size[0];
      }
      EXPECT_EQ(next, n);
    }
  }
}

TEST(Layout, ExplicitCutsAreKept) {
  const Mesh mesh{{{"a", 3}}};
  const Layout layout = {AxisLayout::Split(1, {0, 22, 22, 43})};
  EXPECT_EQ(LocalBox(layout, {2, 43}, mesh, 0)->size, (Shape{2, 22}));
  EXPECT_TRUE(LocalBox(layout, {2, 43}, mesh, 1)->empty());
  EXPECT_EQ(LocalBox(layout, {2, 43}, mesh, 2)->offset, (Shape{0, 22}));
}

TEST(Layout, AtKeepsTheValueOnOneRank) {
  const Layout layout = {AxisLayout::Replicate(), AxisLayout::At(1)};
  EXPECT_FALSE(LocalBox(layout, {3}, kTwoByTwo, 2).has_value());
  EXPECT_TRUE(LocalBox(layout, {3}, kTwoByTwo, 3).has_value());
}

TEST(Layout, TextRoundTrip) {
  for (const char* text : {"R", "P", "P(max)", "At3", "S0", "S2[0,22,43]"}) {
    const absl::StatusOr<AxisLayout> layout = ParseAxisLayout(text);
    ASSERT_TRUE(layout.ok()) << text;
    EXPECT_EQ(layout->ToString(), text);
  }
  for (const char* text : {"", "S", "Sx", "At", "At-1", "S0[", "S0[]", "S0[0,x]", "S0[0,1", "Q", "P(min)"}) {
    EXPECT_FALSE(ParseAxisLayout(text).ok()) << text;
  }
}

TEST(Layout, WrongLayoutsAreRefusedInWords) {
  const auto message = [](const Layout& layout) {
    return std::string(CheckLayout(layout, {8, 6}, kTwoByTwo).message());
  };
  EXPECT_EQ(message({AxisLayout::Split(0), AxisLayout::Split(1, {0, 2, 6})}), "");
  EXPECT_NE(message({AxisLayout::Replicate()}).find("2"), std::string::npos);
  EXPECT_NE(message({AxisLayout::At(2), AxisLayout::Replicate()}).find("'data' of size 2"), std::string::npos);
  EXPECT_NE(message({AxisLayout::Replicate(), AxisLayout::Split(2)}).find("[8,6]"), std::string::npos);
  EXPECT_NE(message({AxisLayout::Split(1, {0, 4, 5}), AxisLayout::Replicate()}).find("from 0 to 6"), std::string::npos);
  EXPECT_NE(message({AxisLayout::Split(1, {0, 6}), AxisLayout::Replicate()}).find("3 cut points"), std::string::npos);
  EXPECT_NE(message({AxisLayout::Split(1, {0, 2, 6}), AxisLayout::Split(1, {0, 1, 2})}).find("different sizes"),
            std::string::npos);
}

TEST(Layout, BalancedCutsWrittenOutAreTheSameLayout) {
  EXPECT_TRUE(SameAxis(AxisLayout::Split(0), AxisLayout::Split(0, {0, 4, 7}), 7, 2));
  EXPECT_FALSE(SameAxis(AxisLayout::Split(0), AxisLayout::Split(0, {0, 3, 7}), 7, 2));
  EXPECT_FALSE(SameAxis(AxisLayout::Split(0), AxisLayout::Split(1), 7, 2));
}

TEST(Layout, WindowsMakeBlocksOverlap) {
  const Mesh mesh{{{"a", 3}}};
  const auto boxes = [&](const std::string& text, int64_t n) {
    std::vector<std::pair<int64_t, int64_t>> found;
    for (int rank = 0; rank < 3; ++rank) {
      const Box box = *LocalBox({*ParseAxisLayout(text)}, {n}, mesh, rank);
      found.emplace_back(box.offset[0], box.offset[0] + box.size[0]);
    }
    return found;
  };
  using Boxes = std::vector<std::pair<int64_t, int64_t>>;
  EXPECT_EQ(boxes("S0(11x5/1-2)", 11), (Boxes{{-2, 6}, {2, 10}, {6, 13}}));
  EXPECT_EQ(boxes("S0(11x5/1-2,clipped)", 11), (Boxes{{0, 6}, {2, 10}, {6, 11}}));
  EXPECT_EQ(boxes("S0[0,1,1,5](5x2/2-0)", 11), (Boxes{{0, 2}, {2, 2}, {2, 10}}));
}

TEST(Layout, WindowsNestAsTheirOutputsDo) {
  const AxisLayout split = *ParseAxisLayout("S0(10x3/1-1,clipped)");
  std::vector<int64_t> sizes;
  for (int rank = 0; rank < 4; ++rank) sizes.push_back(LocalBox({split, split}, {10}, kTwoByTwo, rank)->size[0]);
  EXPECT_EQ(sizes, (std::vector<int64_t>{4, 4, 5, 3})) << "outputs 3, 2, 3, 2";
  EXPECT_FALSE(CheckLayout({split, AxisLayout::Split(0)}, {10}, kTwoByTwo).ok());
  EXPECT_FALSE(CheckLayout({*ParseAxisLayout("S0[0,4,9](10x3/1-1)"), {}}, {10}, kTwoByTwo).ok());
  EXPECT_FALSE(CheckLayout({*ParseAxisLayout("S0(0x3/1-1)"), {}}, {10}, kTwoByTwo).ok());
}

}  // namespace
}  // namespace partita
