#include "partitioner/search/grid_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "tests/partitioner/search/random_tables.h"

namespace partita {
namespace {

TEST(GridSearch, EqualsBruteForceWithAndWithoutALimitOfMemory) {
  std::mt19937 random(3);
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {  // 1,000 without a limit, 1,000 with one
    const int ranks = 1 + static_cast<int>(random() % 12);
    const double bytes = i % 2 == 0 ? kNever : static_cast<double>(20 + random() % 80);
    std::map<int, CostTables> by_rows;
    double best = kNever;
    for (int rows = 1; rows <= ranks; ++rows) {
      if (ranks % rows != 0) continue;
      by_rows[rows] = RandomTables(random, 4, 3);
      best = std::min(best, BruteForce(by_rows[rows], bytes).seconds);
    }
    const auto answer = GridSearch(
        ranks, [&](int rows, int) { return by_rows.at(rows); }, bytes);
    ASSERT_EQ(answer.ok(), best < kNever) << answer.status();
    if (!answer.ok() && ++refused) continue;
    EXPECT_EQ(answer->seconds, best);
    EXPECT_EQ(answer->lower_bound, best);
    EXPECT_EQ(answer->plan.rows * answer->plan.columns, ranks);
    EXPECT_EQ(CostOf(by_rows.at(answer->plan.rows), answer->plan.modes).seconds, best);
    EXPECT_EQ(answer->rejected.size() + 1, by_rows.size());
    for (const Answer<GridPlan>& other : answer->others) {
      EXPECT_EQ(other.seconds, BruteForce(by_rows.at(other.plan.rows), bytes).seconds) << "the best of its grid";
      EXPECT_NE(other.plan.rows, answer->plan.rows);
    }
  }
  EXPECT_GT(refused, 0);
  EXPECT_LT(refused, 600);
}

// The more rows, the faster, and the smaller.
CostTables Falling(int rows, int) { return {{{"all", {"model"}, {8.0 / rows}, {8.0 / rows}}}, {}}; }

TEST(GroupSearch, StaysInAFastDomainWhileItFits) {
  EXPECT_EQ(GridSearch(8, Falling)->plan.rows, 8);
  const auto inside = GroupSearch(8, 2, Falling);
  ASSERT_TRUE(inside.ok());
  EXPECT_EQ(inside->plan.rows, 2);
  EXPECT_EQ(inside->plan.columns, 4);
  ASSERT_EQ(inside->rejected.size(), 1);
  EXPECT_EQ(inside->rejected[0].plan, "1 x 8");
  EXPECT_EQ(inside->rejected[0].reason, "slower by 4e+06 us");
  EXPECT_EQ(GroupSearch(8, 2, Falling, 2)->plan.rows, 8) << "no group of a domain fits: the fastest that does";
}

// One rank a group is impossible, two are too large: neither says that there is nothing beyond the domain.
absl::StatusOr<CostTables> FallingFromTwo(int rows, int columns) {
  if (rows == 1) return absl::InvalidArgumentError("layer 'x' has 2 samples for 8 ranks");
  return Falling(rows, columns);
}

TEST(GroupSearch, LeavesADomainWhoseSmallestGroupsAreImpossible) {
  EXPECT_EQ(GroupSearch(8, 2, FallingFromTwo)->plan.rows, 2);
  EXPECT_EQ(GroupSearch(8, 2, FallingFromTwo, 2)->plan.rows, 8) << "two are too large: the fastest that fits";
  const auto none = GroupSearch(8, 8, FallingFromTwo, 0.5);
  EXPECT_EQ(none.status().message(), "no grid of 8 ranks, not even 2 x 4: no plan fits 0 bytes: the smallest needs 4");
  EXPECT_TRUE(absl::IsResourceExhausted(none.status()));
  const auto impossible = [](int rows, int) { return FallingFromTwo(1, rows); };
  EXPECT_EQ(GridSearch(8, impossible).status().message(),
            "no grid of 8 ranks, not even 1 x 8: layer 'x' has 2 samples for 8 ranks");
}

TEST(GridSearch, SaysWhyThereIsNone) {
  EXPECT_EQ(GridSearch(2, Falling, 1).status().message(),
            "no grid of 2 ranks, not even 1 x 2: no plan fits 1 bytes: the smallest needs 8");
  EXPECT_EQ(GridSearch(0, Falling).status().message(),
            "a grid of 0 ranks in domains of 0: at least one of both is needed");
}

}  // namespace
}  // namespace partita
