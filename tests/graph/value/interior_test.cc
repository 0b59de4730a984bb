// The interior and the boundary of windowed outputs, against what windows span, found output by output.
#include "graph/value/interior.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "graph/value/layout.h"

namespace partita {
namespace {

TEST(Interior, OfAThreeByThreeConvolutionIsAllButTheRowsNextToTheCuts) {
  const Windows windows{12, 3, 1, 1};
  EXPECT_EQ(InteriorOf(windows, {0, 4}, {0, 4}, 12), (Range{0, 3}));
  EXPECT_EQ(InteriorOf(windows, {4, 8}, {4, 8}, 12), (Range{5, 7}));
  EXPECT_EQ(InteriorOf(windows, {8, 12}, {8, 12}, 12), (Range{9, 12}));
  EXPECT_EQ(InteriorOf(windows, {4, 6}, {4, 6}, 12), (Range{4, 4})) << "every window needs a ghost";
}

TEST(Interior, EvenKernelsReachToOneSide) {
  EXPECT_EQ(InteriorOf({11, 2, 1, 0}, {4, 8}, {4, 8}, 12), (Range{4, 7}));
  EXPECT_EQ(InteriorOf({6, 2, 2, 0}, {2, 4}, {4, 8}, 12), (Range{2, 4})) << "no ghosts at all";
}

TEST(Interior, WhoOwnsNothingHasNone) { EXPECT_TRUE(InteriorOf({12, 3, 1, 1}, {3, 5}, {4, 4}, 12).empty()); }

struct Dimension {
  int64_t n = 0;
  Windows windows;
  std::vector<int64_t> cuts, outputs;
};

int64_t Uniform(std::mt19937& random, int64_t least, int64_t most) {
  return least + static_cast<int64_t>(random() % static_cast<uint64_t>(most - least + 1));
}

std::vector<int64_t> RandomCuts(int64_t n, int ranks, std::mt19937& random) {
  std::vector<int64_t> cuts = {0, n};
  for (int r = 1; r < ranks; ++r) cuts.push_back(Uniform(random, 0, n));
  std::sort(cuts.begin(), cuts.end());
  return cuts;
}

// Kernels even and odd, strides, dilations, padding on either side; outputs cut where their input is, or anywhere.
Dimension RandomDimension(std::mt19937& random, int ranks) {
  Dimension d;
  const int64_t extent = Uniform(random, 1, 3) * (Uniform(random, 1, 6) - 1) + 1;
  const int64_t before = Uniform(random, 0, 4), after = Uniform(random, 0, 4), stride = Uniform(random, 1, 4);
  d.n = Uniform(random, std::max<int64_t>(1, extent - before - after), 40);
  d.windows = {(d.n + before + after - extent) / stride + 1, extent, stride, before};
  d.cuts = random() % 2 == 0 ? BalancedCuts(d.n, ranks) : RandomCuts(d.n, ranks, random);
  d.outputs = random() % 2 == 0 ? OutputCuts(d.windows, d.cuts) : RandomCuts(d.windows.count, ranks, random);
  return d;
}

// What a window sees of the tensor.
Range Seen(const Dimension& d, int64_t output) { return Overlap(SpanOf(d.windows, {output, output + 1}), {0, d.n}); }

bool Inside(const Range& part, const Range& whole) { return part.begin >= whole.begin && part.end <= whole.end; }

TEST(Interior, IsExactlyWhatReadsOwnedElementsAlone) {
  std::mt19937 random(1);
  int with = 0, without = 0;
  for (int c = 0; c < 10'000; ++c) {
    const int ranks = static_cast<int>(Uniform(random, 1, 5));
    const Dimension d = RandomDimension(random, ranks);
    for (int r = 0; r < ranks; ++r) {
      const Range own{d.cuts[r], d.cuts[r + 1]}, outputs{d.outputs[r], d.outputs[r + 1]};
      const Range interior = InteriorOf(d.windows, outputs, own, d.n);
      ASSERT_TRUE(Inside(interior, outputs));
      (interior.empty() ? without : with) += 1;
      for (int64_t o = outputs.begin; o < outputs.end; ++o) {
        const Range seen = Seen(d, o);
        const bool inside = o >= interior.begin && o < interior.end;
        if (seen.empty()) continue;  // of padding alone: either way
        ASSERT_EQ(inside, !own.empty() && Inside(seen, own)) << "case " << c << " rank " << r << " output " << o;
      }
    }
  }
  EXPECT_GT(with, 5'000);
  EXPECT_GT(without, 5'000);
}

// Over two dimensions: the interior by both, what the rows' exchange adds, what the columns' adds. Every output once.
TEST(Interior, AndWhatIsAroundItAreAllOutputsOnce) {
  std::mt19937 random(2);
  int stages[3] = {};
  for (int c = 0; c < 10'000; ++c) {
    const Dimension h = RandomDimension(random, 3), w = RandomDimension(random, 2);
    const int row = static_cast<int>(Uniform(random, 0, 2)), column = static_cast<int>(Uniform(random, 0, 1));
    const Range rows{h.outputs[row], h.outputs[row + 1]}, columns{w.outputs[column], w.outputs[column + 1]};
    const Range inner_rows = InteriorOf(h.windows, rows, {h.cuts[row], h.cuts[row + 1]}, h.n);
    const Range inner_columns = InteriorOf(w.windows, columns, {w.cuts[column], w.cuts[column + 1]}, w.n);
    const auto box = [](const Range& i, const Range& j) { return Box{{i.begin, j.begin}, {i.size(), j.size()}}; };
    std::vector<Box> parts;
    std::optional<Box> done;
    int stage = 0;
    for (const Box& reach : {box(inner_rows, inner_columns), box(rows, inner_columns), box(rows, columns)}) {
      if (!reach.empty()) {
        const std::vector<Box> more = done ? Around(*done, reach) : std::vector<Box>{reach};
        parts.insert(parts.end(), more.begin(), more.end());
        stages[stage] += !more.empty();
        done = reach;
      }
      ++stage;
    }
    std::vector<int> times(static_cast<size_t>(rows.size() * columns.size()), 0);
    for (const Box& part : parts) {
      ASSERT_FALSE(part.empty());
      for (int64_t i = 0; i < part.size[0]; ++i) {
        for (int64_t j = 0; j < part.size[1]; ++j) {
          const int64_t at = (part.offset[0] + i - rows.begin) * columns.size() + part.offset[1] + j - columns.begin;
          ++times[static_cast<size_t>(at)];
        }
      }
    }
    ASSERT_TRUE(std::all_of(times.begin(), times.end(), [](int count) { return count == 1; })) << "case " << c;
  }
  for (const int count : stages) EXPECT_GT(count, 1'000);
}

}  // namespace
}  // namespace partita
