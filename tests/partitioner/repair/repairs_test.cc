// Repairs are measured, not guessed, and ranked by what they cost.
#include "partitioner/repair/repairs.h"

#include <gtest/gtest.h>

#include <memory>

#include "graph/make_program.h"
#include "ops/host/host_kernels.h"
#include "ops/registry.h"
#include "partitioner/data_model_strategy.h"
#include "partitioner/predict/predicted_plan.h"
#include "runtime/base/status.h"
#include "tests/partitioner/hosts.h"
#include "tools/models/models.h"

namespace partita {
namespace {

class Repairs : public testing::Test {
 protected:
  Repairs() {
    absl::StatusOr<Model> mlp = MakeModel("mlp", {.batch = 24}, Ops());
    EXPECT_TRUE(mlp.ok()) << mlp.status();
    model_ = *std::move(mlp);
    model_.learning_rate.steps = 1;
    model_.optimizer = {};
    model_.optimizer.name = "adam";
    strategy_ = *DataModelStrategy(model_.graph, 2, 1);
    program_ = *MakeProgram(model_, strategy_, Ops());
  }

  absl::StatusOr<PredictedPlan> Predict(const Strategy& strategy, int64_t limit) const {
    PlanBasis basis{model_, Ops(), cluster_, times_, *kernels_};
    basis.schedule.memory_limit = limit;
    return PredictPlan(basis, strategy);
  }

  std::vector<Repair> Find(int64_t limit, int most_ranks) const {
    return FindRepairs({model_.graph, program_, strategy_, most_ranks,
                        [&, limit](const Strategy& strategy) -> absl::StatusOr<Prediction> {
                          ASSIGN_OR_RETURN(const PredictedPlan plan, Predict(strategy, limit));
                          return Prediction{plan.step.seconds(), plan.memory.total, plan.fits};
                        }});
  }

  Model model_;
  Strategy strategy_;
  Program program_;
  const Cluster cluster_ = FourDevices();
  const KernelTimes times_;
  const std::unique_ptr<KernelLibrary> kernels_ = MakeHostKernels({.reference_only = true});
};

// Adam keeps two slots for each weight: in parts over two ranks half of them.
TEST_F(Repairs, OptimizerStateInPartsHalvesIt) {
  const auto whole = Predict(strategy_, 0);
  ASSERT_TRUE(whole.ok()) << whole.status();
  const std::vector<Repair> repairs = Find(whole->memory.total - 1, 2);
  const auto parts = std::ranges::find(repairs, "optimizer state in parts", &Repair::change);
  ASSERT_NE(parts, repairs.end());
  EXPECT_TRUE(parts->status.ok()) << parts->status;
  EXPECT_LT(parts->memory_bytes, whole->memory.total);
  const auto repaired = Predict(parts->strategy, 0);
  ASSERT_TRUE(repaired.ok()) << repaired.status();
  EXPECT_EQ(repaired->memory.parameters, whole->memory.parameters);
  EXPECT_NEAR(static_cast<double>(repaired->memory.states), 0.5 * static_cast<double>(whole->memory.states), 4096);
}

// What is said of a repair is what its strategy, compiled by itself, needs and takes.
TEST_F(Repairs, AreMeasuredAndRanked) {
  const auto whole = Predict(strategy_, 0);
  ASSERT_TRUE(whole.ok()) << whole.status();
  const int64_t limit = whole->memory.total * 3 / 4;
  const std::vector<Repair> repairs = Find(limit, 4);
  ASSERT_GT(repairs.size(), 3U);
  EXPECT_TRUE(repairs[0].status.ok()) << repairs[0].status;
  int before = 0;
  for (const Repair& repair : repairs) {
    SCOPED_TRACE(repair.change);
    ASSERT_GT(repair.seconds, 0) << repair.status;
    const auto plan = Predict(repair.strategy, limit);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(plan->step.seconds(), repair.seconds);
    EXPECT_EQ(plan->memory.total, repair.memory_bytes);
    EXPECT_EQ(plan->fits.ok(), repair.memory_bytes <= limit);
    const int place = !repair.status.ok() ? 2 : repair.strategy.mesh.size() > 2 ? 1 : 0;
    EXPECT_GE(place, before);
    before = place;
  }
  for (size_t i = 1; i < repairs.size(); ++i) {
    const Repair &one = repairs[i - 1], &next = repairs[i];
    if (one.status.ok() && next.status.ok() && one.strategy.mesh.size() == next.strategy.mesh.size()) {
      EXPECT_LE(one.seconds, next.seconds);
    }
    if (!one.status.ok() && !next.status.ok()) {
      EXPECT_LE(one.memory_bytes, next.memory_bytes);
    }
  }
}

TEST_F(Repairs, NothingFitsInAByte) {
  const std::vector<Repair> repairs = Find(1, 4);
  ASSERT_FALSE(repairs.empty());
  for (const Repair& repair : repairs) {
    EXPECT_TRUE(absl::IsResourceExhausted(repair.status)) << repair.change << ": " << repair.status;
    EXPECT_GT(repair.memory_bytes, 1);
  }
}

// As if memory were halved by each change: the first that fits ends its kind, and what cannot be compiled is the last.
TEST_F(Repairs, AKindEndsWithTheFirstThatFits) {
  std::vector<int64_t> asked;
  const auto predict = [&](const Strategy& strategy) -> absl::StatusOr<Prediction> {
    if (strategy.mesh.size() > 2) return InvalidArgument("no such ranks");
    const int64_t count = strategy.pipeline.micro_batches;
    if (count > 1) asked.push_back(count);
    const bool fits = count >= 4;
    return Prediction{static_cast<double>(count), 100 / count, fits ? absl::OkStatus() : ResourceExhausted("too much")};
  };
  const std::vector<Repair> repairs = FindRepairs({model_.graph, program_, strategy_, 4, predict});
  EXPECT_EQ(asked, (std::vector<int64_t>{2, 4, 2, 4}));  // alone, and with optimizer state in parts
  EXPECT_EQ(repairs[0].change, "4 micro-batches");
  EXPECT_EQ(repairs.back().change, "4 replicas of 1 rank");
  EXPECT_TRUE(absl::IsInvalidArgument(repairs.back().status));
}

}  // namespace
}  // namespace partita
