// Collectives of toy sizes, to the exact microsecond.
#include "partitioner/cost/collective_cost.h"

#include <gtest/gtest.h>

namespace partita {
namespace {

// 10 us for a message, 1 GB/s: 1 us for 1,000 bytes.
constexpr AlphaBeta kLink = {10e-6, 1e-9};

double Microseconds(Collective collective, CollectiveForm form, double bytes, int ranks) {
  return CollectiveSeconds(collective, form, bytes, ranks, kLink) * 1e6;
}

TEST(CollectiveCost, OfARing) {
  const auto ring = [](Collective collective) { return Microseconds(collective, CollectiveForm::kRing, 8000, 4); };
  EXPECT_DOUBLE_EQ(ring(Collective::kAllReduce), 6 * 10 + 2 * 6);
  EXPECT_DOUBLE_EQ(ring(Collective::kAllGather), 3 * 10 + 6);
  EXPECT_DOUBLE_EQ(ring(Collective::kReduceScatter), 3 * 10 + 6);
  EXPECT_DOUBLE_EQ(ring(Collective::kBroadcast), 3 * 10 + 8);
  EXPECT_DOUBLE_EQ(ring(Collective::kReduce), 3 * 10 + 8);
  EXPECT_DOUBLE_EQ(ring(Collective::kAllToAll), 3 * 10 + 6);
}

TEST(CollectiveCost, OfTrees) {
  const auto tree = [](Collective collective) { return Microseconds(collective, CollectiveForm::kTree, 8000, 5); };
  EXPECT_DOUBLE_EQ(tree(Collective::kAllReduce), 6 * 10 + 16);
  EXPECT_DOUBLE_EQ(tree(Collective::kBroadcast), 3 * 10 + 8);
  EXPECT_DOUBLE_EQ(tree(Collective::kReduce), 3 * 10 + 8);
  EXPECT_DOUBLE_EQ(tree(Collective::kAllGather), 4 * 10 + 6.4) << "as the ring";
}

TEST(CollectiveCost, OfHalvingAndDoubling) {
  const auto form = [](Collective c, int n) { return Microseconds(c, CollectiveForm::kRecursive, 8000, n); };
  EXPECT_DOUBLE_EQ(form(Collective::kAllReduce, 8), 6 * 10 + 14);
  EXPECT_DOUBLE_EQ(form(Collective::kAllGather, 8), 3 * 10 + 7);
  EXPECT_DOUBLE_EQ(form(Collective::kReduceScatter, 8), 3 * 10 + 7);
  EXPECT_DOUBLE_EQ(form(Collective::kBroadcast, 8), 3 * (10 + 8));
  EXPECT_DOUBLE_EQ(form(Collective::kAllReduce, 5), 6 * 10 + 2 * 6.4) << "rounds are whole";
}

TEST(CollectiveCost, OneRankTakesNoTimeAndNoBytesTakeTheLatency) {
  for (Collective collective : kCollectives) {
    EXPECT_EQ(Microseconds(collective, CollectiveForm::kRing, 8000, 1), 0) << Name(collective);
    EXPECT_EQ(Microseconds(collective, CollectiveForm::kRing, 0, 2), collective == Collective::kAllReduce ? 20 : 10);
  }
}

}  // namespace
}  // namespace partita
