#include "runtime/base/philox.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

namespace partita {
namespace {

void ExpectBlock(const PhiloxBlock& block, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  EXPECT_EQ(block.lane[0], a);
  EXPECT_EQ(block.lane[1], b);
  EXPECT_EQ(block.lane[2], c);
  EXPECT_EQ(block.lane[3], d);
}

// The known-answer vectors that the authors publish with Random123 (kat_vectors, philox4x32 10).
TEST(Philox, KnownAnswers) {
  ExpectBlock(Philox4x32({{0, 0, 0, 0}}, 0, 0), 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8);
  const uint32_t ones = 0xffffffff;
  ExpectBlock(Philox4x32({{ones, ones, ones, ones}}, ones, ones), 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd);
  ExpectBlock(Philox4x32({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0xa4093822, 0x299f31d0), 0xd16cfe09,
              0x94fdcceb, 0x5001e420, 0x24126ea1);
}

// The same third vector through the 64-bit arguments fixes which word is which.
TEST(Philox, WordsOfKeyIterationAndBlock) {
  ExpectBlock(RandomBlock(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88), 0xd16cfe09, 0x94fdcceb,
              0x5001e420, 0x24126ea1);
}

// Published FNV-1a-64 values.
TEST(Philox, KeyIsSeedXorFnv) {
  EXPECT_EQ(PhiloxKey(0, ""), 0xcbf29ce484222325u);
  EXPECT_EQ(PhiloxKey(0, "a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(PhiloxKey(0, "foobar"), 0x85944171f73967e8u);
  EXPECT_EQ(PhiloxKey(0xff, "foobar"), 0x85944171f73967e8u ^ 0xffu);
}

TEST(Philox, UniformIsTheLaneOfTheBlock) {
  EXPECT_EQ(Uniform(0, 0, 0), static_cast<float>(0x6627e8) / 16777216.0f);
  EXPECT_EQ(Uniform(0, 0, 3), static_cast<float>(0x9b00db) / 16777216.0f);
  EXPECT_EQ(Uniform(0, 0, 4), ToUniform(RandomBlock(0, 0, 1).lane[0]));
  EXPECT_EQ(ToUniform(0xffffffff), 1.0f - 1.0f / 16777216.0f);
  EXPECT_EQ(ToUniform(0xff), 0.0f);
}

TEST(Philox, UniformMomentsAndRange) {
  const uint64_t key = PhiloxKey(7, "dropout");
  const int count = 1 << 18;
  double sum = 0, squares = 0;
  for (int i = 0; i < count; ++i) {
    const float u = Uniform(key, 3, i);
    ASSERT_GE(u, 0.0f);
    ASSERT_LT(u, 1.0f);
    sum += u;
    squares += static_cast<double>(u) * u;
  }
  EXPECT_NEAR(sum / count, 0.5, 5 * std::sqrt(1.0 / 12 / count));
  EXPECT_NEAR(squares / count, 1.0 / 3, 5e-3);
}

TEST(Philox, NormalMomentsAndPairs) {
  const uint64_t key = PhiloxKey(1, "weight");
  const int count = 1 << 18;
  double sum = 0, squares = 0, fourth = 0, neighbours = 0;
  for (int i = 0; i < count; i += 2) {
    const double a = Normal(key, 0, i), b = Normal(key, 0, i + 1);
    sum += a + b;
    squares += a * a + b * b;
    fourth += a * a * a * a + b * b * b * b;
    neighbours += a * b;
  }
  EXPECT_NEAR(sum / count, 0, 5 / std::sqrt(count));
  EXPECT_NEAR(squares / count, 1, 0.02);
  EXPECT_NEAR(fourth / count, 3, 0.1);
  EXPECT_NEAR(neighbours / count, 0, 0.01);
  EXPECT_TRUE(std::isfinite(ToNormal(0, 0, false)));
  EXPECT_NEAR(ToNormal(0xffffffff, 0, false), std::sqrt(48 * std::log(2.0)), 1e-6);
}

TEST(Philox, NamesIterationsAndSeedsDiffer) {
  std::vector<float> seen;
  for (uint64_t seed : {0u, 1u}) {
    for (const char* name : {"a", "b"}) {
      for (uint64_t iteration : {0u, 1u}) {
        seen.push_back(Uniform(PhiloxKey(seed, name), iteration, 0));
      }
    }
  }
  for (size_t i = 0; i < seen.size(); ++i) {
    for (size_t j = 0; j < i; ++j) EXPECT_NE(seen[i], seen[j]);
  }
}

}  // namespace
}  // namespace partita
