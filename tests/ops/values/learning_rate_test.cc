#include "ops/values/learning_rate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "ops/registry.h"

namespace partita {
namespace {

LearningRateSchedule Schedule(const Attributes& given) {
  const auto attributes = CompleteAttributes(*Ops().Find("learning_rate"), given);
  CHECK(attributes.ok());
  const absl::Status status = CheckSchedule(*attributes);
  EXPECT_TRUE(status.ok()) << status;
  return ScheduleOf(*attributes);
}

TEST(LearningRate, Constant) {
  const auto schedule = Schedule({{"schedule", "constant"}, {"base", 0.25}});
  for (const int64_t i : {0, 1, 1000000}) EXPECT_EQ(schedule.Rate(i), 0.25);
}

TEST(LearningRate, WarmUpRisesToTheBase) {
  const auto schedule = Schedule({{"schedule", "constant"}, {"base", 1.0}, {"warmup_steps", int64_t{4}}});
  EXPECT_EQ(schedule.Rate(0), 0.25);
  EXPECT_EQ(schedule.Rate(2), 0.75);
  EXPECT_EQ(schedule.Rate(3), 1);
  EXPECT_EQ(schedule.Rate(4), 1);
}

// A short run ends within the warm-up.
TEST(LearningRate, AWarmUpMayBeLongerThanTheRun) {
  for (const std::string kind : {"constant", "cosine"}) {
    for (const int64_t steps : {1, 2, 4}) {
      const auto schedule = Schedule(
          {{"schedule", kind}, {"base", 1.0}, {"final", 0.125}, {"steps", steps}, {"warmup_steps", int64_t{4}}});
      EXPECT_EQ(schedule.Rate(0), 0.25);
      EXPECT_EQ(schedule.Rate(1), 0.5);
      EXPECT_EQ(schedule.Rate(3), 1);
      EXPECT_EQ(schedule.Rate(4), kind == "cosine" ? 0.125 : 1);
    }
  }
}

TEST(LearningRate, Step) {
  const auto schedule = Schedule({{"schedule", "step"}, {"base", 1.0}, {"decay", 0.5}, {"decay_steps", int64_t{3}}});
  EXPECT_EQ(schedule.Rate(2), 1);
  EXPECT_EQ(schedule.Rate(3), 0.5);
  EXPECT_EQ(schedule.Rate(8), 0.25);
}

TEST(LearningRate, ExponentialCountsFromTheEndOfTheWarmUp) {
  const auto schedule = Schedule({{"schedule", "exponential"},
                                  {"base", 1.0},
                                  {"decay", 0.25},
                                  {"decay_steps", int64_t{2}},
                                  {"warmup_steps", int64_t{2}}});
  EXPECT_EQ(schedule.Rate(1), 1);
  EXPECT_EQ(schedule.Rate(2), 1);
  EXPECT_DOUBLE_EQ(schedule.Rate(3), 0.5);
  EXPECT_DOUBLE_EQ(schedule.Rate(4), 0.25);
}

TEST(LearningRate, WarmUpCanBeExponential) {
  const auto schedule = Schedule(
      {{"schedule", "constant"}, {"base", 2.0}, {"warmup_steps", int64_t{4}}, {"warmup", std::string("exponential")}});
  EXPECT_DOUBLE_EQ(schedule.Rate(0), 0.02);
  EXPECT_DOUBLE_EQ(schedule.Rate(2), 0.2);
  EXPECT_DOUBLE_EQ(schedule.Rate(3), 2 * std::pow(0.01, 0.25));
  EXPECT_EQ(schedule.Rate(4), 2);
}

// Inception-V3 as it is trained on TPUs: 0.94 every so many steps, not below 1e-4 of the base.
TEST(LearningRate, AStaircaseHasAFloor) {
  const auto schedule =
      Schedule({{"schedule", "step"}, {"base", 0.5}, {"decay", 0.94}, {"decay_steps", int64_t{3}}, {"final", 0.5e-4}});
  EXPECT_EQ(schedule.Rate(2), 0.5);
  EXPECT_DOUBLE_EQ(schedule.Rate(3), 0.47);
  EXPECT_DOUBLE_EQ(schedule.Rate(8), 0.4418);
  EXPECT_DOUBLE_EQ(schedule.Rate(3 * 148), 0.5 * std::pow(0.94, 148));
  EXPECT_EQ(schedule.Rate(3 * 149), 0.5e-4);  // 0.94^149 is 0.99e-4
  EXPECT_EQ(schedule.Rate(1000000000), 0.5e-4);
}

TEST(LearningRate, AnExponentialHasAFloor) {
  const auto schedule = Schedule(
      {{"schedule", "exponential"}, {"base", 1.0}, {"decay", 0.25}, {"decay_steps", int64_t{2}}, {"final", 0.2}});
  EXPECT_DOUBLE_EQ(schedule.Rate(1), 0.5);
  EXPECT_DOUBLE_EQ(schedule.Rate(2), 0.25);
  EXPECT_EQ(schedule.Rate(3), 0.2);
}

// GNMT: an exponential warm-up, then half of the rate at the start of the decay, and at every interval behind it.
TEST(LearningRate, Halving) {
  const auto schedule = Schedule({{"schedule", "halving"},
                                  {"base", 1.0},
                                  {"warmup_steps", int64_t{2}},
                                  {"warmup", std::string("exponential")},
                                  {"decay_start", int64_t{10}},
                                  {"decay_steps", int64_t{5}},
                                  {"decay_times", int64_t{3}}});
  EXPECT_DOUBLE_EQ(schedule.Rate(0), 0.01);
  EXPECT_DOUBLE_EQ(schedule.Rate(1), 0.1);
  EXPECT_EQ(schedule.Rate(2), 1);
  EXPECT_EQ(schedule.Rate(9), 1);
  EXPECT_EQ(schedule.Rate(10), 0.5);
  EXPECT_EQ(schedule.Rate(14), 0.5);
  EXPECT_EQ(schedule.Rate(15), 0.25);
  EXPECT_EQ(schedule.Rate(20), 0.125);
  EXPECT_EQ(schedule.Rate(25), 0.125);
  EXPECT_EQ(schedule.Rate(1000000000), 0.125);
}

// Of the Transformer: d^-0.5 min(t^-0.5, t w^-1.5) with t from 1; its peak is the base.
TEST(LearningRate, InverseSquareRoot) {
  const double d = 512, w = 16;
  const auto schedule = Schedule(
      {{"schedule", "inverse_square_root"}, {"base", 1 / std::sqrt(d * w)}, {"warmup_steps", static_cast<int64_t>(w)}});
  for (const int t : {1, 5, 15, 16, 17, 64, 1000000}) {
    const double expected = std::min(1 / std::sqrt(t), t * std::pow(w, -1.5)) / std::sqrt(d);
    EXPECT_DOUBLE_EQ(schedule.Rate(t - 1), expected) << t;
  }
  const auto without = Schedule({{"schedule", "inverse_square_root"}, {"base", 0.5}});
  EXPECT_EQ(without.Rate(0), 0.5);
  EXPECT_EQ(without.Rate(3), 0.25);
}

TEST(LearningRate, Cosine) {
  const auto schedule = Schedule({{"schedule", "cosine"}, {"base", 1.0}, {"final", 0.2}, {"steps", int64_t{10}}});
  EXPECT_DOUBLE_EQ(schedule.Rate(0), 1);
  EXPECT_DOUBLE_EQ(schedule.Rate(5), 0.6);
  EXPECT_DOUBLE_EQ(schedule.Rate(10), 0.2);
  EXPECT_DOUBLE_EQ(schedule.Rate(99), 0.2);
}

void ExpectRates(const LearningRateSchedule& schedule, const std::vector<double>& expected) {
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(schedule.Rate(static_cast<int64_t>(i)), expected[i], 1e-15) << i;
  }
}

// What PyTorch 2.15 gives for torch.optim.lr_scheduler.LinearLR(SGD(lr=0.4), 1, 0.25, total_iters=6).
TEST(LearningRate, LinearIsThatOfPyTorch) {
  ExpectRates(Schedule({{"schedule", "linear"}, {"base", 0.4}, {"final", 0.1}, {"steps", int64_t{6}}}),
              {0.4, 0.35, 0.3, 0.25, 0.2, 0.15, 0.1, 0.1, 0.1});
}

// PolynomialLR(SGD(lr=0.4), total_iters=6, power=2.5).
TEST(LearningRate, PolynomialIsThatOfPyTorch) {
  ExpectRates(Schedule({{"schedule", "polynomial"}, {"base", 0.4}, {"power", 2.5}, {"steps", int64_t{6}}}),
              {0.4, 0.2535752581042436, 0.14515494772048465, 0.07071067811865474, 0.02566001196398337,
               0.004536092116265141, 0, 0, 0});
}

// transformers.get_linear_schedule_with_warmup(num_warmup_steps=2, num_training_steps=6), whose step t has the rate of
// our step t - 1 while it rises.
TEST(LearningRate, LinearFallsAfterItsWarmUp) {
  ExpectRates(Schedule({{"schedule", "linear"}, {"base", 0.4}, {"warmup_steps", int64_t{2}}, {"steps", int64_t{6}}}),
              {0.2, 0.4, 0.4, 0.3, 0.2, 0.1, 0, 0});
}

// torch.optim.lr_scheduler.OneCycleLR(max_lr=0.1, total_steps=10), computed from its documented formula: up to step
// 0.3 * 10 - 1 = 2, down to step 9.
TEST(LearningRate, OneCycleIsThatOfPyTorch) {
  const auto schedule = Schedule({{"schedule", "one_cycle"}, {"base", 0.1}, {"steps", int64_t{10}}});
  EXPECT_DOUBLE_EQ(schedule.Rate(0), 0.004);
  EXPECT_DOUBLE_EQ(schedule.Rate(1), 0.052);
  EXPECT_DOUBLE_EQ(schedule.Rate(2), 0.1);
  EXPECT_NEAR(schedule.Rate(3), 0.09504846320134738, 1e-15);
  EXPECT_NEAR(schedule.Rate(9), 4e-7, 1e-15);
  EXPECT_NEAR(schedule.Rate(10), 4e-7, 1e-15);
}

TEST(LearningRate, OneCycleOfFewStepsIsFinite) {
  for (int64_t steps = 1; steps <= 5; ++steps) {
    const auto schedule = Schedule({{"schedule", "one_cycle"}, {"base", 0.1}, {"steps", steps}});
    for (int64_t i = 0; i < 8; ++i) {
      EXPECT_GT(schedule.Rate(i), 0);
      EXPECT_LE(schedule.Rate(i), 0.1);
    }
  }
}

}  // namespace
}  // namespace partita
