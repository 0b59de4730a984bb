// Halo exchanges and their adjoints on 1 to 7 ranks: blocks of any size, empty ones too, windows of any stride and
// extent over 1 to 3 dimensions, from every layout that can lie before.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/graph/adjoint_fixture.h"

namespace partita {
namespace {

class Draw {
 public:
  explicit Draw(uint32_t seed) : random_(seed) {}

  int64_t Between(int64_t from, int64_t to) {
    return from + static_cast<int64_t>(random_() % static_cast<uint64_t>(to - from + 1));
  }
  bool Coin() { return Between(0, 1) == 1; }

  // Balanced (empty), or any cut points, so that blocks are often empty.
  std::vector<int64_t> Cuts(int64_t n, int ranks) {
    if (Coin()) return {};
    std::vector<int64_t> cuts = {0, n};
    for (int r = 1; r < ranks; ++r) cuts.push_back(Between(0, n));
    std::sort(cuts.begin(), cuts.end());
    return cuts;
  }

  // Windows over n elements; at least one sees an element.
  Windows WindowsOver(int64_t n) {
    while (true) {
      Windows windows;
      windows.extent = Between(1, 5);
      windows.stride = Between(1, 4);
      windows.before = Between(0, 4);
      const int64_t after = Between(0, 3);
      windows.extent = std::min(windows.extent, n + windows.before + after);
      windows.count = (n + windows.before + after - windows.extent) / windows.stride + 1;
      windows.clipped = Coin();
      for (int64_t o = 0; o < windows.count; ++o) {
        if (!Overlap(SpanOf(windows, {o, o + 1}), {0, n}).empty()) return windows;
      }
    }
  }

 private:
  std::mt19937 random_;
};

Layout Windowed(const Layout& layout, const Shape& shape, const Mesh& mesh, Draw& draw) {
  Layout windowed = layout;
  for (size_t a = 0; a < layout.size(); ++a) {
    const int d = layout[a].dimension;
    const Windows windows = draw.WindowsOver(shape[d]);
    windowed[a] = AxisLayout::Split(d, draw.Cuts(windows.count, mesh.axes[a].size), windows);
  }
  return windowed;
}

// One to three dimensions, each split over an axis of its own.
TEST(HaloExchange, BackwardIsAdjoint) {
  const std::vector<std::vector<int>> meshes = {{1}, {2}, {3}, {4}, {5}, {6}, {7}, {2, 2}, {2, 3}, {3, 2}, {1, 2, 3}};
  int tested = 0;
  for (int round = 0; round < 40; ++round) {
    for (const std::vector<int>& sizes : meshes) {
      Draw draw(static_cast<uint32_t>(1000 * round + tested + 1));
      Mesh mesh;
      Shape shape;
      Layout from;
      for (size_t a = 0; a < sizes.size(); ++a) {
        mesh.axes.push_back({std::string(1, static_cast<char>('a' + a)), sizes[a]});
        shape.push_back(draw.Between(1, 9));
        from.push_back(AxisLayout::Split(static_cast<int>(a), draw.Cuts(shape.back(), sizes[a])));
      }
      shape.push_back(2);
      ExpectAdjoint({mesh, shape, from, Windowed(from, shape, mesh, draw)}, 7, draw.Coin(), tested);
    }
  }
  EXPECT_GE(tested, 440);
}

// What windows need, straight from values that lie in other ways, and back to them.
TEST(HaloExchange, AnyLayoutLeadsToWindows) {
  int tested = 0;
  const Shape shape = {5, 7};
  for (int ranks = 2; ranks <= 4; ++ranks) {
    const Mesh mesh{{{"a", ranks}}};
    for (const char* from : {"a:R", "a:P", "a:S0", "a:S1", "a:At1"}) {
      for (const char* windows : {"7x3/1-1", "7x3/1-1,clipped", "3x2/2-0,clipped", "4x4/3-3", "2x7/1-0"}) {
        const std::string to = "a:S1(" + std::string(windows) + ")";
        ExpectAdjoint({mesh, shape, ParseLayout(from, shape, mesh), ParseLayout(to, shape, mesh)}, 3 + tested,
                      tested % 2 == 0, tested);
      }
    }
  }
  EXPECT_EQ(tested, 75);
}

// Next to splits of other dimensions, sums and replicas; two axes nested in the dimension of the windows.
TEST(HaloExchange, OtherAxesKeepTheirLayout) {
  const Mesh mesh{{{"a", 2}, {"b", 3}}};
  const Shape shape = {3, 8, 2};
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
  int tested = 0;
  for (const auto& [from, to] : pairs) {
    ExpectAdjoint({mesh, shape, ParseLayout(from, shape, mesh), ParseLayout(to, shape, mesh)}, 11 + tested, false,
                  tested);
  }
  EXPECT_GE(tested, 10);
}

}  // namespace
}  // namespace partita
