// Divisor and NarrowDivisor are the division of integers.
#include "ops/cuda/loops/divisor.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace partita {
namespace {

constexpr int64_t kEnd = int64_t{1} << 53;

void ExpectDivides(int64_t i, int64_t by) {
  if (i < 0 || i >= kEnd) return;
  const Divisor::Divided found = Divisor(by)(i);
  ASSERT_EQ(found.quotient, i / by) << i << " / " << by;
  ASSERT_EQ(found.rest, i % by) << i << " / " << by;
}

// Around multiples, where a quotient that is a little off is cut to its neighbour.
TEST(Divisor, IsTheDivisionOfIntegers) {
  std::vector<int64_t> divisors = {1, 2, 3, 5, 7, 10, 24, 33, 49, 107, 1000, 65537, 100003, 999999937, kEnd - 1};
  for (int bits = 3; bits < 53; ++bits) {
    for (const int64_t beside : {-1, 0, 1}) divisors.push_back((int64_t{1} << bits) + beside);
  }
  for (const int64_t by : divisors) {
    const int64_t most = (kEnd - 1) / by;
    for (const int64_t quotient : {int64_t{0}, int64_t{1}, int64_t{2}, most / 7, most / 3, most / 2, most - 1, most}) {
      for (const int64_t beside : {-1, 0, 1}) ExpectDivides(quotient * by + beside, by);
    }
    ExpectDivides(kEnd - 1, by);
  }
}

// Around multiples too, and by numbers that no dividend reaches.
TEST(NarrowDivisor, IsTheDivisionOfIntegers) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  std::vector<int64_t> divisors = {1,   2,    3,     5,      7,         10,        24,    33,        49,
                                   107, 1000, 65537, 100003, 999999937, kMost - 1, kMost, kMost + 1, kEnd};
  for (int bits = 3; bits < 31; ++bits) {
    for (const int64_t beside : {-1, 0, 1}) divisors.push_back((int64_t{1} << bits) + beside);
  }
  for (const int64_t by : divisors) {
    const int64_t most = kMost / by;
    for (const int64_t quotient : {int64_t{0}, int64_t{1}, int64_t{2}, most / 7, most / 3, most / 2, most - 1, most}) {
      for (const int64_t beside : {-1, 0, 1}) {
        const int64_t i = quotient * by + beside;
        if (i < 0 || i > kMost) continue;
        const auto found = NarrowDivisor(by)(static_cast<int32_t>(i));
        ASSERT_EQ(found.quotient, i / by) << i << " / " << by;
        ASSERT_EQ(found.rest, i % by) << i << " / " << by;
      }
    }
  }
}

// Sizes of tensors that hold nothing.
TEST(NarrowDivisor, IsMadeOfAnySize) {
  for (const int64_t by : {int64_t{0}, int64_t{1} << 40}) NarrowDivisor{by};
}

}  // namespace
}  // namespace partita
