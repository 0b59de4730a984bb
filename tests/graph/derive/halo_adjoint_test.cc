// Halo exchanges and their adjoints on 1 to 7 ranks: blocks of any size, empty ones too, windows of any stride and
// extent over 1 to 3 dimensions, from every layout that can lie before.
#include <gtest/gtest.h>

#include "tests/graph/derive/adjoint_cases.h"

namespace partita {
namespace {

// One to three dimensions, each split over an axis of its own, all by windows: corners come along.
TEST(HaloExchange, BackwardIsAdjoint) {
  const std::vector<std::vector<int>> meshes = {{1}, {2}, {3}, {4}, {5}, {6}, {7}, {2, 2}, {2, 3}, {3, 2}, {1, 2, 3}};
  AdjointTally tally;
  uint32_t seed = 0;
  for (const std::vector<int>& sizes : meshes) {
    const Mesh mesh = MeshOf(sizes);
    CaseDraw draw(++seed);
    std::vector<AdjointCase> cases;
    for (int round = 0; round < 40; ++round) {
      AdjointCase c;
      for (size_t a = 0; a < sizes.size(); ++a) {
        c.type.shape.push_back(draw.Between(1, 9));
        c.from.push_back(AxisLayout::Split(static_cast<int>(a), draw.Cuts(c.type.shape.back(), sizes[a])));
      }
      c.type = {DType::kF64, c.type.shape};
      c.type.shape.push_back(2);
      c.to = c.from;
      for (size_t a = 0; a < sizes.size(); ++a) c.to = draw.Windowed(c.to, static_cast<int>(a), c.type.shape, mesh);
      c.integers = draw.Coin();
      cases.push_back(std::move(c));
    }
    ExpectAdjoints(mesh, cases, seed, tally);
  }
  EXPECT_GE(tally.cases, 440);
}

// What windows need, straight from values that lie in other ways, and back to them.
TEST(HaloExchange, AnyLayoutLeadsToWindows) {
  AdjointTally tally;
  const TensorType type{DType::kF64, {5, 7}};
  for (int ranks = 2; ranks <= 4; ++ranks) {
    const Mesh mesh = MeshOf({ranks});
    std::vector<AdjointCase> cases;
    for (const char* from : {"a:R", "a:P", "a:S0", "a:S1", "a:At1"}) {
      for (const char* windows : {"7x3/1-1", "7x3/1-1,clipped", "3x2/2-0,clipped", "4x4/3-3", "2x7/1-0"}) {
        const std::string to = "a:S1(" + std::string(windows) + ")";
        cases.push_back({type, ParseLayout(from, type.shape, mesh), ParseLayout(to, type.shape, mesh), false});
      }
    }
    ExpectAdjoints(mesh, cases, static_cast<uint32_t>(ranks), tally);
  }
  EXPECT_EQ(tally.cases, 75);
}

// Next to splits of other dimensions, sums and replicas; two axes nested in the dimension of the windows.
TEST(HaloExchange, OtherAxesKeepTheirLayout) {
  const Mesh mesh = MeshOf({2, 3});
  const TensorType type{DType::kF64, {3, 8, 2}};
  const char* const pairs[][2] = {
      {"a:S0 b:S1", "a:S0 b:S1(8x3/1-1)"},
      {"a:R b:S1", "a:R b:S1(8x5/1-2,clipped)"},
      {"a:S1 b:S0", "a:S1(4x2/2-0,clipped) b:S0"},
      {"a:S1 b:S2", "a:S1(8x3/1-1) b:R"},
      {"a:S1 b:P", "a:S1(8x3/1-1) b:R"},
      {"a:At1 b:S1", "a:At1 b:S1(8x3/1-1)"},
      {"a:S1 b:S1", "a:S1(8x3/1-1) b:S1(8x3/1-1)"},
      {"a:S1 b:R", "a:S1(7x3/1-1) b:S1(7x3/1-1)"},
      {"a:S0 b:R", "a:S1(8x3/1-1) b:S0"},
      {"a:R b:R", "a:S1(4x3/2-1) b:S1(4x3/2-1)"},
  };
  AdjointTally tally;
  std::vector<AdjointCase> cases;
  for (const auto& [from, to] : pairs) {
    cases.push_back({type, ParseLayout(from, type.shape, mesh), ParseLayout(to, type.shape, mesh), false});
  }
  ExpectAdjoints(mesh, cases, 11, tally);
  EXPECT_GE(tally.cases, 10);
}

}  // namespace
}  // namespace partita
