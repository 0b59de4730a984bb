// A line through measured times, and the middle of several.
#include "partitioner/profile/alpha_beta_fit.h"

#include <gtest/gtest.h>

#include "partitioner/profile/quartiles.h"

namespace partita {
namespace {

std::vector<TimedBytes> Planted(const AlphaBeta& cost) {
  std::vector<TimedBytes> samples;
  for (double bytes = 1024; bytes <= 4 << 20; bytes *= 4) samples.push_back({bytes, cost.SecondsOf(bytes)});
  return samples;
}

TEST(AlphaBetaFit, RecoversWhatWasPlanted) {
  for (const AlphaBeta cost : {AlphaBeta{20e-6, 2e-10}, AlphaBeta{1e-3, 1e-9}, AlphaBeta{1e-6, 1e-12}}) {
    const AlphaBetaFit fit = FitAlphaBeta(Planted(cost));
    EXPECT_NEAR(fit.cost.alpha / cost.alpha, 1, 1e-9);
    EXPECT_NEAR(fit.cost.beta / cost.beta, 1, 1e-9);
    EXPECT_NEAR(fit.r_squared, 1, 1e-12);
  }
}

// By hand: seconds 1, 2 and 2 of 0, 1 and 2 bytes weigh 1, 1/4 and 1/4. The sums are 3/2 of weights, 3/4 of x, 2 of y,
// 5/4 of x x, 3/2 of x y; the determinant 3/2 5/4 - 9/16 = 21/16. alpha = (2 5/4 - 3/4 3/2) / (21/16) = 22/21, beta =
// (3/2 3/2 - 3/4 2) / (21/16) = 12/21. What is left are 1/441 + (8/21)^2 / 4 + (4/21)^2 / 4 = 21/441; about the mean
// 4/3 there are 1/9 + (2/3)^2 / 2 = 1/3.
TEST(AlphaBetaFit, OfThreeTimesIsThatByHand) {
  const AlphaBetaFit fit = FitAlphaBeta({{0, 1}, {1, 2}, {2, 2}});
  EXPECT_NEAR(fit.cost.alpha, 22.0 / 21, 1e-12);
  EXPECT_NEAR(fit.cost.beta, 12.0 / 21, 1e-12);
  EXPECT_NEAR(fit.r_squared, 1 - (21.0 / 441) * 3, 1e-12);
}

// Errors of a tenth, up and down: small messages say what alpha is, however long large ones take.
TEST(AlphaBetaFit, ErrorsCountByWhatTheyAreOf) {
  std::vector<TimedBytes> samples = Planted({20e-6, 2e-10});
  for (size_t i = 0; i < samples.size(); ++i) samples[i].seconds *= i % 2 == 0 ? 1.1 : 0.9;
  const AlphaBetaFit fit = FitAlphaBeta(samples);
  EXPECT_NEAR(fit.cost.alpha / 20e-6, 1, 0.1);
  EXPECT_NEAR(fit.cost.beta / 2e-10, 1, 0.15);
  EXPECT_GT(fit.r_squared, 0.9);
  EXPECT_LT(fit.r_squared, 1);
}

TEST(AlphaBetaFit, NothingIsBelowZero) {
  EXPECT_EQ(FitAlphaBeta({{1000, 1}, {2000, 3}}).cost.alpha, 0);
  EXPECT_GT(FitAlphaBeta({{1000, 1}, {2000, 3}}).cost.beta, 0);
  EXPECT_EQ(FitAlphaBeta({{1000, 3}, {2000, 1}}).cost.beta, 0);
  EXPECT_GT(FitAlphaBeta({{1000, 3}, {2000, 1}}).cost.alpha, 0);
}

TEST(Quartiles, LieBetweenTheValues) {
  const Quartiles quartiles = QuartilesOf({5, 1, 4, 2, 3});
  EXPECT_EQ(quartiles.low, 2);
  EXPECT_EQ(quartiles.median, 3);
  EXPECT_EQ(quartiles.high, 4);
  EXPECT_DOUBLE_EQ(quartiles.spread(), 2.0 / 3);
  EXPECT_EQ(QuartilesOf({1, 2}).median, 1.5);
  EXPECT_EQ(QuartilesOf({7}).spread(), 0);
}

}  // namespace
}  // namespace partita
