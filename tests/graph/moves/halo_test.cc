// The arithmetic of halos: the golden table of docs/papers.md 2.2, and random blocks against what their windows span,
// found element by element.
#include "graph/moves/halo.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "graph/value/layout.h"

namespace partita {
namespace {

struct Geometry {
  int64_t n, kernel, stride, dilation, padding;

  int64_t extent() const { return dilation * (kernel - 1) + 1; }
  Windows windows(bool clipped = false) const {
    return {(n + 2 * padding - extent()) / stride + 1, extent(), stride, padding, clipped, false};
  }
};

struct Worker {
  int64_t owned, outputs, left, right;
  bool operator==(const Worker&) const = default;
};
void PrintTo(const Worker& w, std::ostream* out) {
  *out << "(" << w.owned << "," << w.outputs << "," << w.left << "," << w.right << ")";
}

std::vector<Worker> Balanced(const Geometry& geometry, int ranks) {
  const Windows windows = geometry.windows();
  const std::vector<int64_t> cuts = BalancedCuts(geometry.n, ranks), outputs = BalancedCuts(windows.count, ranks);
  const Halo halo = PlanHalo(geometry.n, cuts, outputs, windows);
  std::vector<Worker> workers;
  for (int r = 0; r < ranks; ++r) {
    workers.push_back({cuts[r + 1] - cuts[r], outputs[r + 1] - outputs[r], halo.blocks[r].left, halo.blocks[r].right});
  }
  return workers;
}

TEST(Halo, GoldenTable) {
  using Workers = std::vector<Worker>;
  EXPECT_EQ(Balanced({10, 2, 2, 1, 0}, 4), (Workers{{3, 2, 0, 1}, {3, 1, -1, 0}, {2, 1, 0, 0}, {2, 1, 0, 0}}));
  EXPECT_EQ(Balanced({11, 5, 1, 1, 2}, 3), (Workers{{4, 4, 0, 2}, {4, 4, 2, 2}, {3, 3, 2, 0}}));
  EXPECT_EQ(Balanced({11, 5, 1, 1, 0}, 3), (Workers{{4, 3, 0, 3}, {4, 2, 1, 1}, {3, 2, 3, 0}}));
  EXPECT_EQ(Balanced({11, 2, 2, 1, 0}, 3), (Workers{{4, 2, 0, 0}, {4, 2, 0, 0}, {3, 1, 0, -1}}));
  EXPECT_EQ(Balanced({224, 11, 4, 1, 2}, 4), (Workers{{56, 14, 0, 5}, {56, 14, 2, 5}, {56, 14, 2, 5}, {56, 13, 2, 0}}));
}

// docs/papers.md 2.3: C1, C3 and S4 of LeNet-5 over two workers in each direction.
TEST(Halo, GoldenLeNet) {
  using Workers = std::vector<Worker>;
  EXPECT_EQ(Balanced({28, 5, 1, 1, 2}, 2), (Workers{{14, 14, 0, 2}, {14, 14, 2, 0}}));
  EXPECT_EQ(Balanced({28, 2, 2, 1, 0}, 2), (Workers{{14, 7, 0, 0}, {14, 7, 0, 0}}));
  EXPECT_EQ(Balanced({14, 5, 1, 1, 0}, 2), (Workers{{7, 5, 0, 2}, {7, 5, 2, 0}}));
  EXPECT_EQ(Balanced({10, 2, 2, 1, 0}, 2), (Workers{{5, 3, 0, 1}, {5, 2, -1, 0}}));
}

TEST(Halo, MarginsOnlyAtTheOuterEnds) {
  const Geometry same{11, 5, 1, 1, 2};
  const Halo halo = PlanHalo(11, {0, 4, 8, 11}, {0, 4, 8, 11}, same.windows());
  EXPECT_EQ(halo.blocks[0], (HaloBlock{0, 2, 2, 0}));
  EXPECT_EQ(halo.blocks[1], (HaloBlock{2, 2, 0, 0}));
  EXPECT_EQ(halo.blocks[2], (HaloBlock{2, 0, 0, 2}));
  const Halo clipped = PlanHalo(11, {0, 4, 8, 11}, {0, 4, 8, 11}, same.windows(true));
  EXPECT_EQ(clipped.blocks[0], (HaloBlock{0, 2, 0, 0}));
}

TEST(Halo, ReachesOverSeveralNeighbours) {
  const Halo halo = PlanHalo(4, {0, 1, 2, 3, 4}, {0, 1, 2, 3, 4}, {4, 5, 1, 2, false, false});
  EXPECT_EQ(halo.blocks[0], (HaloBlock{0, 2, 2, 0}));
  EXPECT_EQ(halo.blocks[3], (HaloBlock{2, 0, 0, 2}));
  EXPECT_EQ(halo.sends[0], (HaloSend{1, 0, {1, 2}}));
  EXPECT_EQ(halo.sends[1], (HaloSend{2, 0, {2, 3}}));
}

std::vector<int64_t> RandomCuts(int64_t n, int ranks, std::mt19937& random) {
  std::vector<int64_t> cuts = {0, n};
  for (int r = 1; r < ranks; ++r) cuts.push_back(static_cast<int64_t>(random() % static_cast<uint64_t>(n + 1)));
  std::sort(cuts.begin(), cuts.end());
  return cuts;
}

// The first and the last element of the windows of `outputs`, found tap by tap, clipped to the tensor.
Range BruteForceSpan(const Geometry& geometry, const Range& outputs) {
  int64_t first = geometry.n, last = -1;
  for (int64_t o = outputs.begin; o < outputs.end; ++o) {
    for (int64_t tap = 0; tap < geometry.kernel; ++tap) {
      const int64_t element = o * geometry.stride - geometry.padding + tap * geometry.dilation;
      first = std::min(first, element);
      last = std::max(last, element);
    }
  }
  return {std::max<int64_t>(first, 0), std::min(last, geometry.n - 1) + 1};
}

void ExpectSpan(const Geometry& geometry, const std::vector<int64_t>& cuts, const std::vector<int64_t>& outputs) {
  const int ranks = static_cast<int>(cuts.size()) - 1;
  const Halo halo = PlanHalo(geometry.n, cuts, outputs, geometry.windows());
  for (int r = 0; r < ranks; ++r) {
    const Range own{cuts[r], cuts[r + 1]};
    const Range span = BruteForceSpan(geometry, {outputs[r], outputs[r + 1]});
    std::multiset<int64_t> arrived;
    for (const HaloSend& send : halo.sends) {
      if (send.to != r) continue;
      ASSERT_NE(send.from, r);
      ASSERT_TRUE(send.elements.begin >= cuts[send.from] && send.elements.end <= cuts[send.from + 1]);
      for (int64_t e = send.elements.begin; e < send.elements.end; ++e) arrived.insert(e);
    }
    if (span.empty()) {
      ASSERT_EQ(halo.blocks[r].left, -own.size());
      ASSERT_EQ(halo.blocks[r].right, 0);
      ASSERT_TRUE(arrived.empty()) << "who needs nothing gets nothing";
      continue;
    }
    ASSERT_EQ(halo.blocks[r].left, own.begin - span.begin);
    ASSERT_EQ(halo.blocks[r].right, span.end - own.end);
    for (int64_t e = span.begin; e < span.end; ++e) {
      ASSERT_EQ(arrived.count(e), e >= own.begin && e < own.end ? 0u : 1u) << "element " << e << " of rank " << r;
    }
    ASSERT_EQ(static_cast<int64_t>(arrived.size()), span.size() - Overlap(span, own).size());
  }
}

TEST(Halo, WidthsAreTheSpanOfTheWindows) {
  std::mt19937 random(20061108);
  const auto draw = [&](int64_t from, int64_t to) {
    return from + static_cast<int64_t>(random() % static_cast<uint64_t>(to - from + 1));
  };
  int tested = 0;
  while (tested < 100000) {
    const Geometry geometry{draw(1, 24), draw(1, 6), draw(1, 5), draw(1, 3), draw(0, 6)};
    if (geometry.n + 2 * geometry.padding < geometry.extent()) continue;
    const int ranks = static_cast<int>(draw(1, 8));
    const int64_t outputs = geometry.windows().count;
    const bool balanced = draw(0, 1) == 0;
    const std::vector<int64_t> output_cuts =
        balanced ? BalancedCuts(outputs, ranks) : RandomCuts(outputs, ranks, random);
    ExpectSpan(geometry, draw(0, 2) == 0 ? BalancedCuts(geometry.n, ranks) : RandomCuts(geometry.n, ranks, random),
               output_cuts);
    if (HasFatalFailure()) {
      FAIL() << "n " << geometry.n << " kernel " << geometry.kernel << " stride " << geometry.stride << " dilation "
             << geometry.dilation << " padding " << geometry.padding << " ranks " << ranks;
    }
    ++tested;
  }
}

TEST(Windows, OutputsStayWithTheMiddleOfTheirWindows) {
  EXPECT_EQ(OutputCuts({28, 3, 1, 1, false, false}, {0, 10, 28}), (std::vector<int64_t>{0, 10, 28}));
  EXPECT_EQ(OutputCuts({5, 2, 2, 0, false, false}, {0, 3, 3, 10}), (std::vector<int64_t>{0, 2, 2, 5}));
  EXPECT_EQ(OutputCuts({7, 5, 1, 0, false, false}, {0, 1, 10, 11}), (std::vector<int64_t>{0, 0, 7, 7}));
}

TEST(Windows, TextIsReadBack) {
  for (const Windows& windows : {Windows{28, 3, 1, 1, false, false}, Windows{5, 2, 2, 0, true, false},
                                 Windows{5, 2, 2, 0, true, true}, Windows{7, 9, 4, 3, false, true}}) {
    const absl::StatusOr<Windows> again = ParseWindows(ToString(windows));
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(*again, windows);
  }
  EXPECT_EQ(ToString(Windows{28, 3, 1, 1, true, true}), "28x3/1-1,clipped,sum");
  for (const char* bad : {"", "28", "28x3", "28x3/1", "28x3/1-", "28x3/1-1,", "28x3/1-1,sum,clipped", "28x3/1-1 "}) {
    EXPECT_FALSE(ParseWindows(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace partita
