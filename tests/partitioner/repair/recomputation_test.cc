// Which blocks are computed again so that a plan fits: where a network is narrow, what is kept there, and that what is
// found is the quickest of all that fit, each compiled and simulated.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "graph/make_program.h"
#include "ops/graph_builder.h"
#include "ops/host/host_kernels.h"
#include "ops/registry.h"
#include "partitioner/data_model_strategy.h"
#include "partitioner/predict/predicted_plan.h"
#include "partitioner/repair/recompute_tables.h"
#include "partitioner/repair/repairs.h"
#include "runtime/base/status.h"
#include "tests/partitioner/hosts.h"
#include "tests/testing/assert_ok.h"
#include "tools/models/models.h"

namespace partita {
namespace {

// What passes by a node of its own branch is no place to cut; scalars are.
TEST(Stretches, EndWhereOneValuePasses) {
  GraphBuilder b(Ops());
  const ValueId x = b.Input("x", DType::kF32, {4, 6});
  const ValueId a = b.Add("a", "relu", {x}), sum = b.Add("sum", "mean", {a});
  const ValueId left = b.Add("left", "tanh", {a}), right = b.Add("right", "relu", {a});
  const ValueId joined = b.Add("joined", "add", {left, right});
  const ValueId loss = b.Add("loss", "add", {b.Add("mean", "mean", {b.Add("c", "tanh", {joined})}), sum});
  ASSERT_OK_AND_ASSIGN(const Graph graph, b.Build(loss));
  EXPECT_EQ(StretchesOf(graph),
            (std::vector<Stretch>{{"a"}, {"sum", "left", "right", "joined"}, {"c"}, {"mean", "loss"}}));
}

TEST(Stretches, AreSaidByFoldersWhereTheseAreWhole) {
  const std::vector<Stretch> stretches = {{"a/x", "a/y"}, {"b/c/x", "b/c/y", "b/d"}, {"b/e"}};
  EXPECT_EQ(BlocksOf(stretches, {{0, 0}, {1, 1}}), (std::vector<RecomputedBlock>{{{"a/*"}}, {{"b/c/*", "b/d"}}}));
  EXPECT_EQ(BlocksOf(stretches, {{1, 2}}), (std::vector<RecomputedBlock>{{{"b/*"}}}));
}

class Recomputation : public testing::Test {
 protected:
  absl::StatusOr<PredictedPlan> Predict(const Model& model, const Strategy& strategy, int64_t limit) const {
    PlanBasis basis{model, Ops(), cluster_, times_, *kernels_};
    basis.schedule.memory_limit = limit;
    return PredictPlan(basis, strategy);
  }

  // Of one rank.
  std::vector<Repair> Find(const Model& model, const PredictedPlan& plan, int64_t limit) const {
    const auto predict = [&, limit](const Strategy& strategy) -> absl::StatusOr<Prediction> {
      ASSIGN_OR_RETURN(const PredictedPlan other, Predict(model, strategy, limit));
      return Prediction{other.step.seconds(), other.memory.total, other.fits};
    };
    return FindRepairs({model.graph, plan.program, Strategy{}, 1, predict, plan.train.ByRank()[0], &plan.step.Of(0)});
  }

  // All ways to choose blocks, compiled; for eight limits how many times as long what is found takes as the quickest
  // that fits.
  std::vector<double> ExcessesOf(const Model& model) const {
    const absl::StatusOr<PredictedPlan> plan = Predict(model, Strategy{}, 0);
    EXPECT_TRUE(plan.ok()) << plan.status();
    const RecomputeCosts costs = CostsOf(model, *plan);
    std::vector<std::pair<double, int64_t>> all;  // seconds and bytes
    for (const RecomputePlan& blocks : AllRecomputePlans(static_cast<int>(costs.stretches.size()))) {
      Strategy strategy;
      strategy.recompute = BlocksOf(costs.stretches, blocks);
      const absl::StatusOr<PredictedPlan> other = Predict(model, strategy, 0);
      EXPECT_TRUE(other.ok()) << other.status();
      all.emplace_back(other->step.seconds(), other->memory.total);
    }
    const int64_t least = std::ranges::min_element(all, {}, &std::pair<double, int64_t>::second)->second;
    EXPECT_LT(least, plan->memory.total);
    std::vector<double> excesses;
    for (int part = 0; part < 8; ++part) {
      const int64_t limit = least + (plan->memory.total - 1 - least) * part / 7;
      double best = std::numeric_limits<double>::infinity();
      for (const auto& [seconds, bytes] : all) {
        if (bytes <= limit) best = std::min(best, seconds);
      }
      const Repair found = Blocks(Find(model, *plan, limit));
      EXPECT_TRUE(found.status.ok()) << limit << ": " << found.status;
      EXPECT_LE(found.memory_bytes, limit);
      excesses.push_back(found.seconds / best);
    }
    return excesses;
  }

  static RecomputeCosts CostsOf(const Model& model, const PredictedPlan& plan) {
    return RecomputeCostsOf(plan.program.graph(kTrainEntry), *plan.train.ByRank()[0], plan.step.Of(0),
                            StretchesOf(model.graph));
  }

  // That which computes blocks again.
  static Repair Blocks(const std::vector<Repair>& repairs) {
    const auto found = std::ranges::find_if(
        repairs, [](const Repair& repair) { return repair.change.starts_with("computed again:"); });
    return found == repairs.end() ? Repair{"none", {}, Internal("there is none"), 0, 0} : *found;
  }

  const Cluster cluster_ = FourDevices();
  const KernelTimes times_;
  const std::unique_ptr<KernelLibrary> kernels_ = MakeHostKernels({.reference_only = true});
};

// Layers of unequal widths: of each its product is overwritten by tanh, whose result is kept for two gradients.
absl::StatusOr<Model> Layers(const std::vector<int64_t>& widths) {
  GraphBuilder b(Ops());
  ValueId x = b.Input("x", DType::kF32, {512, 16});
  for (size_t i = 0; i < widths.size(); ++i) {
    const std::string name = fmt::format("layer{}", i);
    x = b.Add(name + "/tanh", "tanh", {b.MatMul(name + "/matmul", x, widths[i])});
  }
  Model model;
  ASSIGN_OR_RETURN(model.graph, b.Build(b.Add("loss", "mean", {x})));
  model.learning_rate.steps = 1;
  return model;
}

TEST_F(Recomputation, TablesSayWhatIsKept) {
  ASSERT_OK_AND_ASSIGN(const Model model, Layers({64, 128, 32}));
  ASSERT_OK_AND_ASSIGN(const PredictedPlan plan, Predict(model, Strategy{}, 0));
  const RecomputeCosts costs = CostsOf(model, plan);
  ASSERT_GE(costs.stretches.size(), 3U);
  const std::vector<int64_t> widths = {64, 128, 32};
  int64_t kept = 0;
  for (size_t s = 0; s < 3; ++s) {
    const RecomputeStretch& stretch = costs.tables.stretches[s];
    EXPECT_EQ(stretch.name, fmt::format("layer{0}/matmul to layer{0}/tanh", s));
    EXPECT_EQ(stretch.inside, 0);
    EXPECT_EQ(stretch.output, 512 * widths[s] * 4);
    EXPECT_GT(stretch.seconds, 0);
    EXPECT_EQ(stretch.last_seconds, stretch.seconds);  // nothing inside is read again
    EXPECT_GE(stretch.before, kept + stretch.output);
    EXPECT_GE(stretch.most, kept);
    EXPECT_LE(std::max(stretch.before, stretch.most), plan.memory.total);
    kept += stretch.output;
  }
}

TEST_F(Recomputation, OfFewStretchesTheQuickestThatFitsIsFound) {
  ASSERT_OK_AND_ASSIGN(const Model model, Layers({64, 96, 32, 128}));
  for (const double excess : ExcessesOf(model)) EXPECT_EQ(excess, 1);
}

TEST_F(Recomputation, OfMoreStretchesWhatIsFoundIsNearlyTheQuickest) {
  ASSERT_OK_AND_ASSIGN(const Model model, Layers({64, 96, 32, 128, 48, 80}));
  std::vector<double> excesses = ExcessesOf(model);
  std::ranges::sort(excesses);
  EXPECT_EQ(excesses[6], 1);
  EXPECT_LT(excesses.back(), 1.03);
}

// Of a network with branches what is said of blocks is what their strategy, compiled by itself, needs and takes.
TEST_F(Recomputation, OfBranchesIsMeasured) {
  ASSERT_OK_AND_ASSIGN(Model model, MakeModel("mini-inception", {.batch = 16}, Ops()));
  model.learning_rate.steps = 1;
  ASSERT_OK_AND_ASSIGN(const PredictedPlan plan, Predict(model, Strategy{}, 0));
  const Repair found = Blocks(Find(model, plan, plan.memory.total * 3 / 4));
  EXPECT_TRUE(found.status.ok()) << found.status;
  EXPECT_GT(found.seconds, plan.step.seconds());
  EXPECT_LT(found.seconds, 1.4 * plan.step.seconds());
  ASSERT_OK_AND_ASSIGN(const PredictedPlan repaired, Predict(model, found.strategy, 0));
  EXPECT_EQ(repaired.memory.total, found.memory_bytes);
  EXPECT_EQ(repaired.step.seconds(), found.seconds);
}

}  // namespace
}  // namespace partita
