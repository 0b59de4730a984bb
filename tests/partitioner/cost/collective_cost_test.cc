// Collectives of toy sizes, to the exact microsecond.
#include "partitioner/cost/collective_cost.h"

#include <gtest/gtest.h>

namespace partita {
namespace {

// 10 us for a message, 1 GB/s: 1 us for 1,000 bytes.
constexpr AlphaBeta kLink = {10e-6, 1e-9};

double Microseconds(CollectiveKind collective, CollectiveForm form, double bytes, int ranks) {
  return CollectiveSeconds(collective, form, bytes, ranks, kLink) * 1e6;
}

TEST(CollectiveCost, OfARing) {
  const auto ring = [](CollectiveKind collective) { return Microseconds(collective, CollectiveForm::kRing, 8000, 4); };
  EXPECT_DOUBLE_EQ(ring(CollectiveKind::kAllReduce), 6 * 10 + 2 * 6);
  EXPECT_DOUBLE_EQ(ring(CollectiveKind::kAllGather), 3 * 10 + 6);
  EXPECT_DOUBLE_EQ(ring(CollectiveKind::kReduceScatter), 3 * 10 + 6);
  EXPECT_DOUBLE_EQ(ring(CollectiveKind::kBroadcast), 3 * 10 + 8);
  EXPECT_DOUBLE_EQ(ring(CollectiveKind::kReduce), 3 * 10 + 8);
  EXPECT_DOUBLE_EQ(ring(CollectiveKind::kAllToAll), 3 * 10 + 6);
}

TEST(CollectiveCost, OfTrees) {
  const auto tree = [](CollectiveKind collective) { return Microseconds(collective, CollectiveForm::kTree, 8000, 5); };
  EXPECT_DOUBLE_EQ(tree(CollectiveKind::kAllReduce), 6 * 10 + 16);
  EXPECT_DOUBLE_EQ(tree(CollectiveKind::kBroadcast), 3 * 10 + 8);
  EXPECT_DOUBLE_EQ(tree(CollectiveKind::kReduce), 3 * 10 + 8);
  EXPECT_DOUBLE_EQ(tree(CollectiveKind::kAllGather), 4 * 10 + 6.4) << "as the ring";
}

TEST(CollectiveCost, OfHalvingAndDoubling) {
  const auto form = [](CollectiveKind c, int n) { return Microseconds(c, CollectiveForm::kRecursive, 8000, n); };
  EXPECT_DOUBLE_EQ(form(CollectiveKind::kAllReduce, 8), 6 * 10 + 14);
  EXPECT_DOUBLE_EQ(form(CollectiveKind::kAllGather, 8), 3 * 10 + 7);
  EXPECT_DOUBLE_EQ(form(CollectiveKind::kReduceScatter, 8), 3 * 10 + 7);
  EXPECT_DOUBLE_EQ(form(CollectiveKind::kBroadcast, 8), 3 * (10 + 8));
  EXPECT_DOUBLE_EQ(form(CollectiveKind::kAllReduce, 5), 6 * 10 + 2 * 6.4) << "rounds are whole";
}

TEST(CollectiveCost, OneRankTakesNoTimeAndNoBytesTakeTheLatency) {
  for (const CollectiveKind collective :
       {CollectiveKind::kAllReduce, CollectiveKind::kAllGather, CollectiveKind::kReduceScatter,
        CollectiveKind::kBroadcast, CollectiveKind::kReduce, CollectiveKind::kAllToAll}) {
    EXPECT_EQ(Microseconds(collective, CollectiveForm::kRing, 8000, 1), 0) << Name(collective);
    EXPECT_EQ(Microseconds(collective, CollectiveForm::kRing, 0, 2),
              collective == CollectiveKind::kAllReduce ? 20 : 10);
  }
}

}  // namespace
}  // namespace partita
