#include "ops/values/learning_rate.h"

#include <gtest/gtest.h>

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

TEST(LearningRate, Cosine) {
  const auto schedule = Schedule({{"schedule", "cosine"}, {"base", 1.0}, {"final", 0.2}, {"steps", int64_t{10}}});
  EXPECT_DOUBLE_EQ(schedule.Rate(0), 1);
  EXPECT_DOUBLE_EQ(schedule.Rate(5), 0.6);
  EXPECT_DOUBLE_EQ(schedule.Rate(10), 0.2);
  EXPECT_DOUBLE_EQ(schedule.Rate(99), 0.2);
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
