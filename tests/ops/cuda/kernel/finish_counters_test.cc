#include "ops/cuda/kernel/finish_counters.h"

#include <gtest/gtest.h>

#include <memory>

#include "ops/cuda/launch/reduction_sizes.h"

namespace partita {
namespace {

std::shared_ptr<const FinishCounters> Held(int64_t count) { return *FinishCounters::Reserve(count); }

TEST(FinishCounters, RangesDoNotOverlapAndAreLentAgain) {
  const auto a = Held(3), c = Held(2);
  auto b = Held(4);
  EXPECT_EQ(a->first(), 0);
  EXPECT_EQ(c->first(), 3);
  EXPECT_EQ(b->first(), 5);
  b.reset();
  EXPECT_EQ(Held(1)->first(), 5);
  const auto none = Held(0);  // a launch of one block: it takes one all the same
  EXPECT_EQ(none->first(), 5);
  EXPECT_EQ(Held(7)->first(), 6);
}

// What lies between two ranges is lent where it is large enough.
TEST(FinishCounters, FillsGaps) {
  const auto a = Held(2);
  auto gap = Held(4);
  const auto b = Held(1);
  gap.reset();
  EXPECT_EQ(Held(5)->first(), 7);
  EXPECT_EQ(Held(4)->first(), 2);
}

TEST(FinishCounters, ThereIsAnEnd) {
  const auto all = Held(kFinishCounters);
  const auto more = FinishCounters::Reserve(1);
  ASSERT_FALSE(more.ok());
  EXPECT_EQ(more.status().message(),
            "sums of a kernel want 1 counters of the 131072 that all kernels of a process share: too many are in use");
}

}  // namespace
}  // namespace partita
