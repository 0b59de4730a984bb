#include "graph/timeline/overlap.h"

#include <gtest/gtest.h>

#include <random>

namespace partita {
namespace {

using Ranges = std::vector<TimeRange>;

void ExpectOverlap(const Ranges& work, const Ranges& hidden_by, int64_t busy, int64_t exposed) {
  const OverlapTime overlap = MeasureOverlap(work, hidden_by);
  EXPECT_EQ(overlap.busy_ns, busy);
  EXPECT_EQ(overlap.exposed_ns, exposed);
  EXPECT_EQ(overlap.hidden_ns(), busy - exposed);
}

TEST(Overlap, TheHeadersPicture) { ExpectOverlap({{3, 7}, {11, 17}}, {{0, 6}, {12, 14}, {16, 20}}, 10, 1 + 1 + 2); }

TEST(Overlap, NothingOrEmptyRanges) {
  ExpectOverlap({}, {}, 0, 0);
  ExpectOverlap({{5, 5}}, {{0, 10}}, 0, 0);
  ExpectOverlap({{5, 9}}, {}, 4, 4);
  ExpectOverlap({{5, 9}}, {{6, 6}, {7, 7}}, 4, 4);
  ExpectOverlap({}, {{0, 10}}, 0, 0);
}

TEST(Overlap, WhollyHiddenAndJustBeside) {
  ExpectOverlap({{5, 9}}, {{5, 9}}, 4, 0);
  ExpectOverlap({{5, 9}}, {{0, 20}}, 4, 0);
  ExpectOverlap({{5, 9}}, {{0, 5}, {9, 20}}, 4, 4);
  ExpectOverlap({{5, 9}}, {{6, 8}}, 4, 2);
}

TEST(Overlap, OneCoverHidesSeveral) { ExpectOverlap({{1, 3}, {4, 6}, {7, 12}}, {{2, 8}}, 9, 1 + 4); }

TEST(Overlap, SeveralStreamsCountAMomentOnce) {
  // Work on two streams, one range inside another; covers of three streams, out of order, nested and touching.
  ExpectOverlap({{10, 20}, {0, 4}, {12, 15}, {18, 25}}, {{16, 19}, {1, 2}, {11, 14}, {12, 13}, {14, 16}}, 19,
                (4 - 1) + (25 - 10 - 8));
}

TEST(Overlap, Shares) {
  EXPECT_EQ((OverlapTime{8, 2}).hidden_share(), 0.75);
  EXPECT_EQ((OverlapTime{8, 8}).hidden_share(), 0);
  EXPECT_EQ(OverlapTime{}.hidden_share(), 1);
}

// Moment by moment.
TEST(Overlap, RandomRangesAsCountedByBruteForce) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    const auto draw = [&] {
      Ranges ranges(random() % 6);
      for (TimeRange& range : ranges) {
        range.begin_ns = static_cast<int64_t>(random() % 40);
        range.end_ns = range.begin_ns + static_cast<int64_t>(random() % 12);
      }
      return ranges;
    };
    const Ranges work = draw(), hidden_by = draw();
    int64_t busy = 0, exposed = 0;
    for (int64_t t = 0; t < 60; ++t) {
      const auto runs = [&](const Ranges& ranges) {
        for (const TimeRange& range : ranges) {
          if (range.begin_ns <= t && t < range.end_ns) return true;
        }
        return false;
      };
      busy += runs(work) ? 1 : 0;
      exposed += runs(work) && !runs(hidden_by) ? 1 : 0;
    }
    ExpectOverlap(work, hidden_by, busy, exposed);
  }
}

}  // namespace
}  // namespace partita
