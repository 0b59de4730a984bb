// What is proven where lists of plans become too long to be exact: the bound of the price, and lists that are 0.5 %
// coarse.
#include "partitioner/search/limited_search.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "partitioner/search/elimination/bucket_elimination.h"
#include "partitioner/search/elimination/memory_price.h"
#include "tests/partitioner/search/random_tables.h"

namespace partita {
namespace {

constexpr double kCoarseness = 0.005, kRounding = 1 + 1e-9;

// Configs of three levels that lie far apart, each with four that take nearly the same: the faster of these are a
// little larger, so that exact lists keep all of them, and coarse ones one of a level.
constexpr int kLevels = 3, kAlike = 4, kConfigs = kLevels * kAlike;

CostTables NearlyEqualConfigs(std::mt19937& random, int ops) {
  const auto below = [&](int bound) { return static_cast<double>(random() % bound); };
  CostTables tables;
  for (int op = 0; op < ops; ++op) {
    OpTable table{"op" + std::to_string(op), {}, {}, {}};
    for (int level = 1; level <= kLevels; ++level) {
      const double seconds = 100 * level + below(30), bytes = 1000.0 / level + below(200);
      for (int alike = 0; alike < kAlike; ++alike) {
        table.configs.push_back("c" + std::to_string(table.configs.size()));
        table.seconds.push_back(seconds - 0.01 * alike - below(100) / 1e5);
        table.bytes.push_back(bytes + alike + below(100) / 1e3);
      }
    }
    tables.ops.push_back(std::move(table));
  }
  for (int op = 1; op < ops; ++op) {
    std::vector<double> seconds;
    for (int entry = 0; entry < kConfigs * kConfigs; ++entry) seconds.push_back(entry / kAlike % kLevels * below(2));
    tables.edges.push_back(
        {static_cast<int>(random() % op), op, std::make_shared<const std::vector<double>>(std::move(seconds))});
  }
  return tables;
}

std::vector<int> Fastest(const CostTables& tables, const EliminationOrder& order) {
  OpCosts seconds;
  for (const OpTable& op : tables.ops) seconds.push_back(op.seconds);
  return BucketElimination(tables, order, seconds).Configs();
}

TEST(LimitedSearch, NeverProvesMoreThanIsTrue) {
  std::mt19937 random(9);
  int open = 0, coarse = 0, exact = 0;
  for (int i = 0; i < 25; ++i) {
    const CostTables tables = NearlyEqualConfigs(random, 5);
    const EliminationOrder order = MinFillOrder(tables);
    const std::vector<int> fastest = Fastest(tables, order);
    const double bytes = CostOf(tables, fastest).bytes * (0.6 + 0.05 * (i % 7));
    const Cost best = BruteForce(tables, bytes);
    ASSERT_LT(best.seconds, kNever);
    const auto by_price = LimitedSearch(tables, order, fastest, bytes, /*most_points=*/0);
    ASSERT_TRUE(by_price.ok()) << by_price.status();
    EXPECT_LE(by_price->lower_bound, best.seconds * kRounding) << "Lagrange";
    for (double most_points = 0; most_points < 1e6; most_points = 2 * most_points + 8) {
      const auto answer = LimitedSearch(tables, order, fastest, bytes, most_points);
      ASSERT_TRUE(answer.ok()) << answer.status();
      EXPECT_GE(answer->seconds, best.seconds / kRounding);
      EXPECT_LE(answer->lower_bound, best.seconds * kRounding) << i << " by " << most_points;
      EXPECT_LE(answer->bytes, bytes);
      EXPECT_EQ(CostOf(tables, answer->plan).seconds, answer->seconds);
      // What the price alone leaves open, and lists settle to their coarseness and no more, coarse lists did.
      const bool settled = answer->Gap() <= kCoarseness * kRounding;
      if (by_price->Gap() <= kCoarseness) continue;
      open += !settled;
      coarse += settled && answer->Gap() > 0;
      exact += answer->Gap() == 0;
    }
    const auto whole = LimitedSearch(tables, order, fastest, bytes);
    ASSERT_TRUE(whole.ok()) << whole.status();
    EXPECT_NEAR(whole->seconds, best.seconds, 1e-9 * best.seconds) << "with room for all lists it is exact";
    EXPECT_EQ(whole->Gap(), 0);
  }
  EXPECT_GT(open, 20) << "no lists are finished, and the gap is told";
  EXPECT_GT(coarse, 20) << "coarse ones are";
  EXPECT_GT(exact, 20);
}

TEST(ParetoElimination, CoarseListsAreWithinTheirCoarseness) {
  std::mt19937 random(10);
  int other = 0;
  for (int i = 0; i < 25; ++i) {
    const CostTables tables = NearlyEqualConfigs(random, 5);
    const EliminationOrder order = MinFillOrder(tables);
    const double bytes = CostOf(tables, Fastest(tables, order)).bytes * (0.6 + 0.05 * (i % 7));
    const Cost best = BruteForce(tables, bytes);
    const ParetoResult found = ParetoElimination(tables, order, {.bytes = bytes, .coarseness = kCoarseness});
    ASSERT_TRUE(found.finished);
    ASSERT_TRUE(found.plan);
    const Cost cost = CostOf(tables, *found.plan);
    EXPECT_LE(cost.bytes, bytes);
    EXPECT_LE(cost.seconds, best.seconds * (1 + kCoarseness) * kRounding);
    other += cost.seconds > best.seconds * kRounding;
    EXPECT_FALSE(ParetoElimination(tables, order, {.bytes = bytes, .most_points = 10}).finished);
  }
  EXPECT_GT(other, 0) << "plans that exact lists would not give";
}

}  // namespace
}  // namespace partita
