// Divisor is the division of integers, WholeQuotient that of floating-point numbers.
#include "ops/cuda/loops/divisor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "ops/cuda/loops/whole_quotient.h"

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

// With 32-bit dividends, around multiples too.
TEST(Divisor, IsTheDivisionOfNarrowIntegers) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  std::vector<int64_t> divisors = {1,  2,   3,    5,     7,      10,        24,        33,
                                   49, 107, 1000, 65537, 100003, 999999937, kMost - 1, kMost};
  for (int bits = 3; bits < 31; ++bits) {
    for (const int64_t beside : {-1, 0, 1}) divisors.push_back((int64_t{1} << bits) + beside);
  }
  for (const int64_t by : divisors) {
    const int64_t most = kMost / by;
    for (const int64_t quotient : {int64_t{0}, int64_t{1}, int64_t{2}, most / 7, most / 3, most / 2, most - 1, most}) {
      for (const int64_t beside : {-1, 0, 1}) {
        const int64_t i = quotient * by + beside;
        if (i < 0 || i > kMost) continue;
        const auto found = Divisor(by)(static_cast<int32_t>(i));
        ASSERT_EQ(found.quotient, i / by) << i << " / " << by;
        ASSERT_EQ(found.rest, i % by) << i << " / " << by;
      }
    }
  }
}

template <typename A>
void ExpectDivides(A a, int64_t by, const WholeQuotient<A>& quotient) {
  const A found = quotient(a), expected = a / static_cast<A>(by);
  if (expected == 0) {
    ASSERT_EQ(found, 0) << a << " / " << by;  // of either sign
  } else {
    ASSERT_EQ(std::memcmp(&found, &expected, sizeof found), 0) << a << " / " << by << ": " << found;
  }
}

// Random bits, so all exponents; the smallest numbers, whose quotients lie between two numbers; the largest.
template <typename A>
void ExpectQuotients() {
  using Bits = std::conditional_t<sizeof(A) == 4, uint32_t, uint64_t>;
  std::mt19937_64 random(7);
  std::vector<int64_t> divisors;
  for (int64_t by = 1; by <= 300; ++by) divisors.push_back(by);
  for (const int64_t by : {511, 1023, 1024, 65535, 65536, 99999, (1 << 20) - 1}) divisors.push_back(by);
  for (const int64_t by : divisors) {
    const WholeQuotient<A> quotient(by);
    ASSERT_EQ(quotient.exact, by % 2 != 0 || (by & (by - 1)) == 0) << by;
    if (!quotient.exact) continue;
    for (int i = 0; i < 3000; ++i) {
      const auto bits = static_cast<Bits>(random());
      A a;
      std::memcpy(&a, &bits, sizeof a);
      if (std::isfinite(a)) ExpectDivides(a, by, quotient);
      const A few = static_cast<A>(i) * std::numeric_limits<A>::denorm_min();
      ExpectDivides(few, by, quotient);
      ExpectDivides(-few, by, quotient);
      ExpectDivides(std::numeric_limits<A>::min() + few * static_cast<A>(by), by, quotient);
    }
    ExpectDivides(std::numeric_limits<A>::max(), by, quotient);
    EXPECT_TRUE(std::isnan(quotient(std::numeric_limits<A>::infinity())));
  }
}

TEST(WholeQuotient, IsTheDivision) {
  ExpectQuotients<float>();
  ExpectQuotients<double>();
}

TEST(WholeQuotient, SaysWhereItIsNot) {
  const WholeQuotient<float> sixth(6);
  EXPECT_FALSE(sixth.exact);
  bool differs = false;  // halfway between two of the smallest numbers
  for (int i = 0; i < 100; ++i) {
    const float few = static_cast<float>(i) * std::numeric_limits<float>::denorm_min();
    differs = differs || sixth(few) != few / 6;
  }
  EXPECT_TRUE(differs);
  EXPECT_FALSE(WholeQuotient<float>(0).exact);
  EXPECT_FALSE(WholeQuotient<float>((1 << 20) + 1).exact);
}

}  // namespace
}  // namespace partita
