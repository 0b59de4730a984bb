#include "run/train/plateau.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

namespace partita {
namespace {

LearningRate Rate() {
  LearningRate rate;
  rate.schedule = "plateau";
  rate.base = 0.4;
  rate.decay = 0.5;
  rate.final = 0.06;
  rate.patience = 2;
  return rate;
}

// Rates after each loss as PyTorch 2.15 has them: ReduceLROnPlateau(SGD(lr=0.4), factor=0.5, patience=1, min_lr=0.06).
// Its patience counts the epochs that are still endured, ours the one in which the rate falls.
TEST(Plateau, FallsWherePyTorchDoes) {
  const std::pair<double, double> rates[] = {{1.0, 0.4}, {0.9, 0.4},  {0.90005, 0.4}, {0.89995, 0.2}, {0.95, 0.2},
                                             {0.8, 0.2}, {0.8, 0.2},  {0.8, 0.1},     {0.9, 0.1},     {0.7, 0.1},
                                             {0.7, 0.1}, {0.7, 0.06}, {0.7, 0.06},    {0.7, 0.06}};
  Plateau plateau(Rate(), std::nullopt);
  double before = 0.4;
  for (const auto& [loss, rate] : rates) {
    EXPECT_EQ(plateau.Take(loss), rate != before) << loss;
    EXPECT_DOUBLE_EQ(Rate().base * plateau.factor(), rate) << loss;
    before = rate;
  }
}

TEST(Plateau, KnowsWhatTheRunBeforeKnew) {
  Plateau plateau(Rate(), Stagnation{{"loss", 0.5}, 1});
  EXPECT_TRUE(plateau.Take(0.6));
  EXPECT_EQ(plateau.stagnation()->best.value, 0.5);
  EXPECT_EQ(plateau.stagnation()->epochs, 0);
}

TEST(Plateau, NeedsATestSet) {
  Model model;
  model.learning_rate = Rate();
  EXPECT_THAT(std::string(Plateau::Read(model, {}, std::nullopt).status().message()),
              ::testing::HasSubstr("learning_rate.schedule is 'plateau', which follows the loss of a test set"));
  model.learning_rate.schedule = "constant";
  EXPECT_FALSE(Plateau::Read(model, {}, std::nullopt)->has_value());
}

}  // namespace
}  // namespace partita
