#include "tools/benchmarks/median.h"

#include <gtest/gtest.h>

#include <numeric>

namespace partita {
namespace {

std::vector<double> UpTo(int n) {
  std::vector<double> values(static_cast<size_t>(n));
  std::iota(values.rbegin(), values.rend(), 1.0);
  return values;
}

// Tables of the sign test: the k-th smallest and largest of n.
TEST(MedianInterval, IsThatOfTheSignTest) {
  struct Row {
    int n, k;
  };
  for (const Row row :
       {Row{1, 1}, {2, 1}, {5, 1}, {6, 1}, {8, 1}, {9, 2}, {11, 2}, {12, 3}, {20, 6}, {50, 18}, {100, 40}}) {
    const Interval interval = MedianInterval(UpTo(row.n));
    EXPECT_EQ(interval.low, row.k) << row.n;
    EXPECT_EQ(interval.high, row.n + 1 - row.k) << row.n;
  }
}

TEST(Ratios, AreOfTheSameRound) {
  EXPECT_EQ(Ratios({2, 9}, {1, 3}), (std::vector<double>{2, 3}));
  EXPECT_EQ(MedianRatio({2, 9}, {1, 3}), 2.5);
}

}  // namespace
}  // namespace partita
