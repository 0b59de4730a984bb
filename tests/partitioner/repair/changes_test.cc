// Each change does what it says, and nothing else.
#include "partitioner/repair/changes.h"

#include <gtest/gtest.h>

#include <utility>

#include "graph/make_program.h"
#include "ops/registry.h"
#include "partitioner/data_model_strategy.h"
#include "tools/models/models.h"

namespace partita {
namespace {

Model Mlp(int64_t batch) {
  absl::StatusOr<Model> model = MakeModel("mlp", {.batch = batch}, Ops());
  EXPECT_TRUE(model.ok()) << model.status();
  model->learning_rate.steps = 1;
  return *std::move(model);
}

Strategy Sizes(const Model& model, int data, int mp) {
  const auto strategy = DataModelStrategy(model.graph, data, mp);
  EXPECT_TRUE(strategy.ok()) << strategy.status();
  return *strategy;
}

TEST(Changes, MicroBatchesDivideTheBatchAndDouble) {
  const Model model = Mlp(36);
  Strategy strategy = Sizes(model, 2, 1);
  EXPECT_EQ(MoreMicroBatches(model.graph, strategy), (std::vector<int64_t>{2, 4, 9, 18, 36}));
  strategy.pipeline.micro_batches = 4;
  EXPECT_EQ(MoreMicroBatches(model.graph, strategy), (std::vector<int64_t>{9, 18, 36}));
  EXPECT_EQ(MoreMicroBatches(Mlp(7).graph, Strategy{}), (std::vector<int64_t>{7}));
  EXPECT_TRUE(MoreMicroBatches(Mlp(1).graph, Strategy{}).empty());
  const Strategy more = WithMicroBatches(strategy, 9);
  EXPECT_EQ(more.pipeline.micro_batches, 9);
  EXPECT_EQ(more.ops.size(), strategy.ops.size());
}

TEST(Changes, UpdatesAreInPartsWhereParametersAreWhole) {
  const Model model = Mlp(8);
  const Strategy strategy = Sizes(model, 2, 3);
  const auto program = MakeProgram(model, strategy, Ops());
  ASSERT_TRUE(program.ok()) << program.status();
  const std::optional<Strategy> changed = WithUpdatesInParts(*program, strategy);
  ASSERT_TRUE(changed);
  // Weights [784, 256] are split by columns over model and whole over data; the last layer is split as well.
  const OpConfig& first = changed->ops[0];
  EXPECT_EQ(first.pattern, "dense1/matmul/weights");
  ASSERT_EQ(first.update.size(), 1U);
  EXPECT_EQ(first.update.at("data").split, "dimension0");
  const auto sharded = MakeProgram(model, *changed, Ops());
  ASSERT_TRUE(sharded.ok()) << sharded.status();
  EXPECT_FALSE(WithUpdatesInParts(*sharded, *changed)) << "all are in parts already";
}

TEST(Changes, OneRankHasNoParts) {
  const Model model = Mlp(8);
  const auto program = MakeProgram(model, Strategy{}, Ops());
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_FALSE(WithUpdatesInParts(*program, Strategy{}));
}

using Pairs = std::vector<std::pair<int, int>>;
Pairs PairsOf(const std::vector<ReplicaSizes>& sizes) {
  Pairs pairs;
  for (const ReplicaSizes& one : sizes) pairs.emplace_back(one.data, one.model);
  return pairs;
}

TEST(Changes, ReplicasGrowOnTheSameRanksOrOnMore) {
  const Model model = Mlp(24);
  EXPECT_EQ(PairsOf(LargerReplicas(Sizes(model, 12, 1))), (Pairs{{6, 2}, {3, 4}, {1, 12}}));
  EXPECT_EQ(PairsOf(LargerReplicas(Sizes(model, 3, 1))), (Pairs{{1, 3}}));
  EXPECT_EQ(PairsOf(LargerReplicas(Sizes(model, 2, 2))), (Pairs{{1, 4}}));
  EXPECT_TRUE(LargerReplicas(Strategy{}).empty());
  EXPECT_EQ(PairsOf(LargerReplicas(Strategy{}, 8)), (Pairs{{1, 2}, {1, 4}, {1, 8}}));
  EXPECT_EQ(PairsOf(LargerReplicas(Strategy{}, 3)), (Pairs{{1, 2}, {1, 3}}));
  EXPECT_EQ(PairsOf(LargerReplicas(Sizes(model, 3, 2), 12)), (Pairs{{3, 4}}));
  EXPECT_TRUE(LargerReplicas(Sizes(model, 3, 2), 6).empty());
  EXPECT_EQ(PairsOf(MoreReplicas(Sizes(model, 3, 2), 24)), (Pairs{{6, 2}, {12, 2}}));
  EXPECT_TRUE(MoreReplicas(Sizes(model, 3, 2), 11).empty());
}

TEST(Changes, ReplicasKeepTheOptions) {
  const Model model = Mlp(24);
  Strategy strategy = Sizes(model, 4, 1);
  strategy.bucket_bytes = 4096;
  strategy.pipeline.micro_batches = 2;
  strategy.exchanges = ExchangeMode::kChain;
  const auto changed = WithReplicas(model.graph, strategy, {2, 2});
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_EQ(changed->mesh.ToString(), "data:2 model:2");
  EXPECT_EQ(changed->bucket_bytes, 4096);
  EXPECT_EQ(changed->pipeline.micro_batches, 2);
  EXPECT_EQ(changed->exchanges, ExchangeMode::kChain);
}

}  // namespace
}  // namespace partita
