#include "partitioner/search/layerwise_search.h"

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "partitioner/search/elimination/elimination_order.h"
#include "tests/partitioner/search/random_tables.h"

namespace partita {
namespace {

// Ops 0 to n-1 of two configs, as many bytes as the second config's seconds are fewer.
CostTables Ops(int count) {
  CostTables tables;
  for (int op = 0; op < count; ++op)
    tables.ops.push_back({"op" + std::to_string(op), {"slow", "fast"}, {3, 1}, {1, 3}});
  return tables;
}

void Join(CostTables& tables, int from, int to, std::vector<double> seconds) {
  tables.edges.push_back({from, to, std::make_shared<const std::vector<double>>(std::move(seconds))});
}

TEST(LayerwiseSearch, EqualsBruteForceOnRandomGraphs) {
  std::mt19937 random(7);
  int impossible = 0;
  for (int i = 0; i < 1000; ++i) {
    const CostTables tables = RandomTables(random, 7, 4);
    const Cost best = BruteForce(tables, kNever);
    const auto answer = LayerwiseSearch(tables);
    if (best.seconds == kNever || MinFillOrder(tables).width > 4) {
      EXPECT_FALSE(answer.ok());
      ++impossible;
      continue;
    }
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ(answer->seconds, best.seconds) << i;
    EXPECT_EQ(answer->lower_bound, best.seconds);
    EXPECT_EQ(CostOf(tables, answer->plan).seconds, answer->seconds) << "configs read back cost what was promised";
  }
  EXPECT_LT(impossible, 200);
}

TEST(LayerwiseSearch, EqualsBruteForceUnderALimitOfMemory) {
  std::mt19937 random(8);
  int limited = 0;
  for (int i = 0; i < 1000; ++i) {
    const CostTables tables = RandomTables(random, 7, 4);
    const Cost free = BruteForce(tables, kNever);
    if (free.seconds == kNever || MinFillOrder(tables).width > 4) continue;
    const double bytes = free.bytes * (0.4 + 0.1 * static_cast<double>(i % 6));
    const Cost best = BruteForce(tables, bytes);
    const auto answer = LayerwiseSearch(tables, bytes);
    ASSERT_EQ(answer.ok(), best.seconds != kNever) << answer.status();
    if (!answer.ok()) continue;
    EXPECT_EQ(answer->seconds, best.seconds) << i;
    EXPECT_EQ(answer->lower_bound, answer->seconds);
    EXPECT_LE(answer->bytes, bytes);
    EXPECT_EQ(CostOf(tables, answer->plan).bytes, answer->bytes);
    limited += best.seconds > free.seconds;
  }
  EXPECT_GT(limited, 300) << "cases in which the limit changes the plan";
}

TEST(LayerwiseSearch, EqualPlansGiveTheFirst) {
  CostTables tables = Ops(3);
  for (OpTable& op : tables.ops) op.seconds = {2, 2};
  Join(tables, 0, 1, {1, 0, 0, 1});
  const auto answer = LayerwiseSearch(tables);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->plan, (Configs{1, 0, 0}));
  EXPECT_EQ(LayerwiseSearch(tables)->plan, answer->plan);
}

TEST(LayerwiseSearch, SaysWhatLiesNextToThePlan) {
  CostTables tables = Ops(2);
  Join(tables, 0, 1, {0, 4, 4, 0});
  const auto answer = LayerwiseSearch(tables, 5);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->plan, (Configs{0, 0})) << "both fast is too large, one of them pays the way";
  ASSERT_EQ(answer->rejected.size(), 2);
  EXPECT_EQ(answer->rejected[0].plan, "op0: fast in place of slow");
  EXPECT_EQ(answer->rejected[0].seconds, 8);
  EXPECT_EQ(answer->rejected[0].reason, "slower by 2e+06 us: the op by -2e+06, its edges by 4e+06");
  const auto tight = LayerwiseSearch(Ops(1), 2);
  ASSERT_TRUE(tight.ok());
  EXPECT_EQ(tight->rejected[0].reason, "does not fit: 1 bytes over the limit");
}

TEST(LayerwiseSearch, RefusesWhatItCannotProve) {
  CostTables tables = Ops(6);
  for (int from = 0; from < 6; ++from) {
    for (int to = from + 1; to < 6; ++to) Join(tables, from, to, {0, 1, 1, 0});
  }
  const absl::Status status = LayerwiseSearch(tables).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(),
            "the layer-wise search would eliminate op 'op0' from 5 others by a table of up to 64 entries: it takes at "
            "most 4 others and 2.68e+08 entries, and has no bound for more");
}

TEST(LayerwiseSearch, RefusesALimitThatNothingKeeps) {
  const absl::Status status = LayerwiseSearch(Ops(3), 2).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(), "no plan fits 2 bytes: the smallest needs 3");
}

TEST(LayerwiseSearch, RefusesTablesWhoseSizesDoNotMeet) {
  CostTables tables = Ops(2);
  Join(tables, 0, 1, {1, 2, 3});
  EXPECT_EQ(LayerwiseSearch(tables).status().message(), "the edge from 'op0' to 'op1' has 3 entries: 4 are needed");
  tables = Ops(1);
  tables.ops[0].seconds[1] = -1;
  EXPECT_EQ(LayerwiseSearch(tables).status().message(), "op 'op0' has a cost that is below zero or not a number");
  tables.ops[0].seconds.pop_back();
  EXPECT_EQ(LayerwiseSearch(tables).status().message(),
            "op 'op0' has 2 configs, but the seconds of 1 and the bytes of 2");
  Join(tables = Ops(2), 1, 1, {0, 0, 0, 0});
  EXPECT_EQ(LayerwiseSearch(tables).status().message(), "an edge goes from op 1 to op 1: there are 2 ops");
}

TEST(EdgeMatrices, AreMadeOncePerSignature) {
  EdgeMatrices matrices;
  const auto make = [] { return std::vector<double>{1}; };
  EXPECT_EQ(matrices.Of("3x3", make), matrices.Of("3x3", make));
  EXPECT_NE(matrices.Of("3x3", make), matrices.Of("1x1", make));
  EXPECT_EQ(matrices.made(), 2);
}

}  // namespace
}  // namespace partita
