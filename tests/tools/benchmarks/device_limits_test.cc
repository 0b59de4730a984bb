// What a device does at most bounds what is measured of it from above, whatever lies in a cache.
#include "tools/benchmarks/kernels/device_limits.h"

#include <gtest/gtest.h>

namespace partita {
namespace {

// A launch has been the faster the fewer bytes it moves, but for the smallest, which starting takes longer than moving.
const DeviceLimits kLimits{.flops_per_s = 100, .bytes_per_s = {{10, 50}, {40, 80}, {160, 60}, {640, 20}}};

TEST(DeviceLimits, OfSoManyBytesAreTheBestOfAsManyAndMore) {
  EXPECT_EQ(kLimits.BytesPerSecond(40), 80);
  EXPECT_EQ(kLimits.BytesPerSecond(160), 60);
  EXPECT_EQ(kLimits.BytesPerSecond(640), 20);
}

TEST(DeviceLimits, BetweenTwoAreThoseOfTheFewer) {
  EXPECT_EQ(kLimits.BytesPerSecond(159), 80);
  EXPECT_EQ(kLimits.BytesPerSecond(639), 60);
  EXPECT_EQ(kLimits.BytesPerSecond(1e9), 20);
}

TEST(DeviceLimits, OfFewBytesAreNotThoseOfStarting) {
  EXPECT_EQ(kLimits.BytesPerSecond(10), 80);
  EXPECT_EQ(kLimits.BytesPerSecond(1), 80);
}

TEST(LeastSeconds, AreThoseOfTheSlowerOfBothOfEachLaunch) {
  EXPECT_DOUBLE_EQ(LeastSeconds({{200, 40}, {10, 640}, {0, 0}}, kLimits), 2 + 32);
}

}  // namespace
}  // namespace partita
