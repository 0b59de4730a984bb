#include "graph/timeline/busy_time.h"

#include <gtest/gtest.h>

namespace partita {
namespace {

std::vector<std::pair<int64_t, int64_t>> RangesOf(const BusyTime& busy) {
  std::vector<std::pair<int64_t, int64_t>> ranges;
  for (const TimeRange& range : busy.ranges()) ranges.emplace_back(range.begin_ns, range.end_ns);
  return ranges;
}

TEST(BusyTime, TheHeadersPicture) {
  const BusyTime busy({{4, 7}, {2, 6}, {9, 11}});
  EXPECT_EQ(RangesOf(busy), (std::vector<std::pair<int64_t, int64_t>>{{2, 7}, {9, 11}}));
  EXPECT_EQ(busy.total_ns(), 7);
}

TEST(BusyTime, WithinARange) {
  const BusyTime busy({{2, 7}, {9, 11}, {5, 5}});
  EXPECT_EQ(busy.Within({0, 20}), 7);
  EXPECT_EQ(busy.Within({0, 2}), 0);
  EXPECT_EQ(busy.Within({3, 5}), 2);
  EXPECT_EQ(busy.Within({6, 10}), 2);
  EXPECT_EQ(busy.Within({7, 9}), 0);
  EXPECT_EQ(busy.Within({10, 10}), 0);
  EXPECT_EQ(BusyTime({}).Within({0, 5}), 0);
  EXPECT_EQ(BusyTime({}).total_ns(), 0);
}

}  // namespace
}  // namespace partita
