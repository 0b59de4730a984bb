#include "runtime/base/median.h"

#include <gtest/gtest.h>

namespace partita {
namespace {

TEST(Median, IsTheMiddleOrTheMeanOfTheTwo) {
  EXPECT_EQ(Median({7}), 7);
  EXPECT_EQ(Median({3, 1, 2}), 2);
  EXPECT_EQ(Median({4, 1, 3, 2}), 2.5);
}

TEST(MedianDeathTest, WantsAValue) { EXPECT_DEATH(Median({}), "values"); }

}  // namespace
}  // namespace partita
