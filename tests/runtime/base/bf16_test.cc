// Every bfloat16, and roundings to it: from f32 against the two neighbours, from f64 against exact distances.
#include "runtime/base/bf16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace partita {
namespace {

float Exact(uint32_t bits) { return static_cast<float>(Bf16::FromBits(static_cast<uint16_t>(bits))); }

TEST(Bf16, AllValuesRoundTrip) {
  int numbers = 0;
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float value = Exact(bits);
    if (std::isnan(value)) {
      EXPECT_EQ(Bf16(value).bits(), bits | 0x40) << bits;  // a signalling NaN becomes a quiet one
      EXPECT_TRUE(std::isnan(static_cast<double>(Bf16(value))));
      EXPECT_TRUE(std::isnan(static_cast<float>(Bf16(static_cast<double>(value)))));
      continue;
    }
    ++numbers;
    EXPECT_EQ(Bf16(value).bits(), bits);
    EXPECT_EQ(Bf16(static_cast<double>(value)).bits(), bits);
    EXPECT_EQ(static_cast<double>(Bf16::FromBits(static_cast<uint16_t>(bits))), value);
  }
  EXPECT_EQ(numbers, 65536 - 2 * 127);
}

// Half way between two neighbours the even one is taken; a little beside it the nearer one.
TEST(Bf16, RoundsToNearestTiesToEven) {
  for (uint32_t low = 0; low < 0x7F80; ++low) {
    const double a = Exact(low);
    const double b = low + 1 == 0x7F80 ? std::ldexp(1.0, 128) : static_cast<double>(Exact(low + 1));
    const double middle = (a + b) / 2, little = (b - a) * 1e-9;
    const uint16_t even = static_cast<uint16_t>(low % 2 == 0 ? low : low + 1);
    for (const uint16_t sign : {0, 0x8000}) {
      const double s = sign == 0 ? 1 : -1;
      ASSERT_EQ(Bf16(s * middle).bits(), even | sign) << low;
      ASSERT_EQ(Bf16(s * (middle - little)).bits(), low | sign) << low;
      ASSERT_EQ(Bf16(s * (middle + little)).bits(), (low + 1) | sign) << low;
      ASSERT_EQ(Bf16(static_cast<float>(s * middle)).bits(), even | sign) << low;
    }
  }
}

// An f64 is rounded once: not to f32 first, where it may become a tie that it is not.
TEST(Bf16, RoundsF64Once) {
  const double above = 1 + std::ldexp(1.0, -8) + std::ldexp(1.0, -40),
               below = 1 + std::ldexp(3.0, -8) - std::ldexp(1.0, -40);
  EXPECT_EQ(Bf16(static_cast<float>(above)).bits(), 0x3F80);
  EXPECT_EQ(Bf16(above).bits(), 0x3F81);
  EXPECT_EQ(Bf16(static_cast<float>(below)).bits(), 0x3F82);
  EXPECT_EQ(Bf16(below).bits(), 0x3F81);
  std::mt19937_64 random(1);
  for (int i = 0; i < 100000; ++i) {
    const double value =
        std::ldexp(static_cast<double>(static_cast<int64_t>(random())), static_cast<int>(random() % 100) - 110);
    const Bf16 found(value);
    const double distance = std::abs(static_cast<double>(found) - value);
    for (const int step : {-1, 1}) {
      const double other = Exact(static_cast<uint32_t>(found.bits() + step));
      ASSERT_LE(distance, std::abs(other - value)) << value;
    }
  }
}

TEST(Bf16, WhatIsTooLargeBecomesInfinite) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(static_cast<float>(Bf16(std::numeric_limits<float>::max())), infinity);
  EXPECT_EQ(static_cast<float>(Bf16(-std::numeric_limits<double>::max())), -infinity);
  EXPECT_EQ(static_cast<float>(Bf16(infinity)), infinity);
  EXPECT_EQ(Bf16(std::numeric_limits<double>::denorm_min()).bits(), 0);
  EXPECT_EQ(Bf16(-0.0f).bits(), 0x8000);
}

TEST(Bf16, IntegersAreRounded) {
  EXPECT_EQ(static_cast<int>(Bf16(256)), 256);
  EXPECT_EQ(static_cast<int>(Bf16(257)), 256);
  EXPECT_EQ(static_cast<int>(Bf16(259)), 260);
  EXPECT_EQ(static_cast<int>(Bf16(-2147483647)), std::numeric_limits<int32_t>::min());
  EXPECT_EQ(static_cast<int>(Bf16(2.75f)), 2);
}

}  // namespace
}  // namespace partita
