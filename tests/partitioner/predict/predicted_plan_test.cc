// What is predicted of a plan is what its schedules, made one by one, say.
#include "partitioner/predict/predicted_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "ops/host/host_kernels.h"
#include "ops/registry.h"
#include "partitioner/data_model_strategy.h"
#include "tests/partitioner/hosts.h"
#include "tools/models/models.h"

namespace partita {
namespace {

class PredictedPlans : public testing::Test {
 protected:
  PredictedPlans() {
    absl::StatusOr<Model> lenet = MakeModel("lenet5", {.batch = 10}, Ops());
    EXPECT_TRUE(lenet.ok()) << lenet.status();
    model_ = *std::move(lenet);
    model_.learning_rate.steps = 1;
    strategy_ = *DataModelStrategy(model_.graph, 3, 1);
  }

  absl::StatusOr<PredictedPlan> Predict(int64_t limit) const {
    PlanBasis basis{model_, Ops(), cluster_, times_, *kernels_};
    basis.schedule.memory_limit = limit;
    return PredictPlan(basis, strategy_);
  }

  Model model_;
  Strategy strategy_;
  Cluster cluster_ = FourDevices();
  const KernelTimes times_;
  const std::unique_ptr<KernelLibrary> kernels_ = MakeHostKernels({.reference_only = true});
};

TEST_F(PredictedPlans, AreThoseOfTheirSchedules) {
  const auto plan = Predict(0);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_TRUE(plan->fits.ok()) << plan->fits;
  const auto program = MakeProgram(model_, strategy_, Ops());
  ASSERT_TRUE(program.ok()) << program.status();
  int64_t arena = 0;
  for (const char* entry : {kTrainEntry, kEvaluateEntry}) {
    const auto schedules = MakeSchedules(*program, program->graph(entry), *kernels_);
    ASSERT_TRUE(schedules.ok()) << schedules.status();
    for (const Schedule& schedule : *schedules) arena = std::max(arena, schedule.memory.total);
    if (entry != kTrainEntry) continue;
    std::vector<const Schedule*> by_rank;
    for (const Schedule& schedule : *schedules) by_rank.push_back(&schedule);
    const auto step = Simulate(*program, by_rank, cluster_, {.fold = false});
    ASSERT_TRUE(step.ok()) << step.status();
    EXPECT_EQ(plan->step.seconds(), step->seconds());
  }
  EXPECT_EQ(plan->memory.total, arena);
}

TEST_F(PredictedPlans, WhatDoesNotFitIsMeasuredAllTheSame) {
  const auto plan = Predict(0);
  ASSERT_TRUE(plan.ok()) << plan.status();
  const int64_t needed = plan->memory.total;
  const auto just = Predict(needed), short_of = Predict(needed - 1);
  ASSERT_TRUE(just.ok() && short_of.ok()) << just.status() << short_of.status();
  EXPECT_TRUE(just->fits.ok()) << just->fits;
  EXPECT_TRUE(absl::IsResourceExhausted(short_of->fits)) << short_of->fits;
  EXPECT_EQ(short_of->memory.total, needed);
  EXPECT_EQ(short_of->step.seconds(), plan->step.seconds());
  cluster_.kinds[0].memory_bytes = needed - 1;
  const auto on_less = Predict(0);
  ASSERT_TRUE(on_less.ok()) << on_less.status();
  EXPECT_TRUE(absl::IsResourceExhausted(on_less->fits)) << on_less->fits;
}

}  // namespace
}  // namespace partita
