#include "partitioner/search/recompute_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <utility>

namespace partita {
namespace {

RecomputeTables RandomTables(std::mt19937& random) {
  RecomputeTables tables;
  int64_t kept = 0;
  for (size_t s = 0, stretches = 1 + random() % 6; s < stretches; ++s) {
    RecomputeStretch stretch;
    stretch.last_seconds = random() % 5;
    stretch.seconds = stretch.last_seconds + random() % 8;
    stretch.inside = random() % 3 == 0 ? 0 : random() % 10;
    stretch.output = random() % 6;
    kept += stretch.inside + stretch.output;
    stretch.most = kept + random() % 6;
    stretch.before = kept + random() % 8;
    tables.stretches.push_back(stretch);
  }
  tables.elsewhere = random() % 8;
  return tables;
}

// Each stretch begins a block, goes on with one or is in none: 3^n, but none goes on where none was.
TEST(AllRecomputePlans, AreAllThatThereAre) {
  EXPECT_EQ(AllRecomputePlans(0).size(), 1U);
  EXPECT_EQ(AllRecomputePlans(2), (std::vector<RecomputePlan>{{}, {{1, 1}}, {{0, 0}}, {{0, 0}, {1, 1}}, {{0, 1}}}));
  EXPECT_EQ(AllRecomputePlans(5).size(), 89U);
}

TEST(RecomputeSearch, EqualsBruteForceUnderEveryLimit) {
  std::mt19937 random(5);
  int refused = 0, again = 0;
  for (int i = 0; i < 1000; ++i) {
    const RecomputeTables tables = RandomTables(random);
    const std::vector<RecomputePlan> plans = AllRecomputePlans(static_cast<int>(tables.stretches.size()));
    for (int64_t limit = 0; limit < 60; limit += 1 + i % 5) {
      double best = std::numeric_limits<double>::infinity();
      for (const RecomputePlan& plan : plans) {
        if (RecomputeBytes(tables, plan) <= limit) best = std::min(best, RecomputeSeconds(tables, plan));
      }
      const auto answer = RecomputeSearch(tables, limit);
      ASSERT_EQ(answer.ok(), best < std::numeric_limits<double>::infinity()) << answer.status();
      if (!answer.ok() && ++refused) continue;
      EXPECT_EQ(answer->seconds, best);
      EXPECT_EQ(answer->lower_bound, best);
      EXPECT_LE(answer->bytes, static_cast<double>(limit));
      EXPECT_EQ(RecomputeSeconds(tables, answer->plan), answer->seconds);
      again += !answer->plan.empty();
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(again, 1000);
}

TEST(RecomputeSearch, PlansAreAllThatAnyLimitChooses) {
  std::mt19937 random(6);
  for (int i = 0; i < 200; ++i) {
    const RecomputeTables tables = RandomTables(random);
    std::vector<std::pair<double, double>> expected, found;  // seconds and bytes
    for (int64_t limit = 100; limit >= 0;) {
      const auto answer = RecomputeSearch(tables, limit);
      if (!answer.ok()) break;
      expected.emplace_back(answer->seconds, answer->bytes);
      limit = static_cast<int64_t>(answer->bytes) - 1;
    }
    for (const Answer<RecomputePlan>& plan : RecomputePlans(tables, 1000)) found.emplace_back(plan.seconds, plan.bytes);
    EXPECT_EQ(found, expected);
  }
}

// Chen et al.: of a chain of equal layers, about as many blocks as layers in each: bytes as the root of the layers.
TEST(RecomputeSearch, ChainsNeedAsTheRootOfTheirLength) {
  for (const auto& [layers, bytes] : {std::pair{16, 8}, {64, 16}, {100, 20}}) {
    RecomputeTables tables;
    for (int s = 0; s < layers; ++s) tables.stretches.push_back({"", 1, 1, 0, 1, 0, s + 1});
    EXPECT_FALSE(RecomputeSearch(tables, bytes / 2).ok());
    const auto answer = RecomputeSearch(tables, bytes);
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_LE(answer->bytes, bytes);
    EXPECT_GE(answer->seconds, layers / 2) << "of all but what is kept";
    EXPECT_LT(answer->seconds, layers) << "the ends of blocks are kept";
  }
}

// Where too many plans are worth keeping, the answer fits, and the best is not below the bound.
TEST(RecomputeSearch, SaysHowMuchFewerPlansCanCost) {
  std::mt19937 random(7);
  int gaps = 0;
  for (int i = 0; i < 100; ++i) {
    RecomputeTables tables;
    int64_t kept = 0;
    for (int s = 0; s < 12; ++s) {
      const int64_t inside = 1000 + random() % 1000;
      kept += inside + 10;
      tables.stretches.push_back({"", 1.0 + static_cast<double>(random() % 1000), 0.5, inside, 10, 0, kept});
    }
    const auto exact = RecomputeSearch(tables, kept / 2), rough = RecomputeSearch(tables, kept / 2, 8);
    ASSERT_TRUE(exact.ok() && rough.ok());
    EXPECT_LE(rough->bytes, static_cast<double>(kept / 2));
    EXPECT_LE(rough->lower_bound, exact->seconds);
    EXPECT_GE(rough->seconds, exact->seconds);
    gaps += rough->Gap() > 0;
  }
  EXPECT_GT(gaps, 0);
}

TEST(RecomputeSearch, SaysWhatIsNeededAtLeast) {
  const RecomputeTables tables{{{"a", 1, 0.5, 40, 10, 0, 60}, {"b", 1, 0.5, 40, 10, 0, 110}}, 30};
  EXPECT_EQ(RecomputeSearch(tables, 50).status().message(),
            "70 bytes are in use at least, whatever is computed again; 50 are allowed");
  EXPECT_EQ(RecomputeSearch(tables, 70)->plan, (RecomputePlan{{0, 0}}));
}

}  // namespace
}  // namespace partita
