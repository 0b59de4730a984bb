// A block of a transformer, whose four heads share two groups of keys and values behind a causal mask, have a bias for
// each pair of positions and drop some probabilities. Under splits of samples, heads, positions and channels it gives
// what one rank gives, and heads follow from the splits of the products around them.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "graph/make_program.h"
#include "ops/graph_builder.h"
#include "ops/registry.h"
#include "partitioner/data_model_strategy.h"
#include "runtime/base/status.h"
#include "tests/equivalence/cases.h"
#include "tests/equivalence/side_by_side.h"
#include "tests/testing/assert_ok.h"

namespace partita {
namespace {

constexpr int64_t kSamples = 6, kPlaces = 12, kChannels = 6;
constexpr int64_t kHeads = 4, kGroups = 2, kDepth = 3;
constexpr int kSteps = 4;

ValueId LayerNorm(GraphBuilder& b, const std::string& name, ValueId x) {
  const ValueId gamma = b.Parameter(name + "/gamma", {kChannels}, "constant", 1);
  const ValueId beta = b.Parameter(name + "/beta", {kChannels}, "constant", 0);
  return b.Add(name, "layer_norm", {x, gamma, beta});
}

absl::StatusOr<Model> MakeBlock() {
  GraphBuilder b(Ops());
  const ValueId images = b.Input("images", DType::kF32, {kSamples, kPlaces, 12, 1});
  const ValueId labels = b.Input("labels", DType::kI32, {kSamples});
  const ValueId rows = b.Add("rows", "reshape", {images}, {{"shape", IntList{kSamples, kPlaces, 12}}});
  const ValueId x = b.Dense("embed", rows, kChannels), norm = LayerNorm(b, "norm", x);
  const auto heads = [&](const std::string& name, int64_t count) {
    return b.Add(name + "/heads", "reshape", {b.MatMul(name, norm, count * kDepth)},
                 {{"shape", IntList{kSamples, kPlaces, count, kDepth}}});
  };
  const ValueId query = heads("query", kHeads), keys = heads("keys", kGroups), values = heads("values", kGroups);
  const ValueId places = b.Parameter("places", {kHeads, kPlaces, kPlaces}, "uniform", 2);
  const ValueId attention = b.Add("attention", "scaled_dot_product_attention", {query, keys, values, kNoValue, places},
                                  {{"causal", true}, {"dropout_rate", 0.2}});
  const ValueId joined = b.Add("joined", "reshape", {attention}, {{"shape", IntList{kSamples, kPlaces, -1}}});
  const ValueId y = LayerNorm(b, "last_norm", b.Add("both", "add", {x, b.MatMul("project", joined, kChannels)}));
  Model model;
  ASSIGN_OR_RETURN(model.graph,
                   b.Build(b.SoftmaxCrossEntropy("loss", b.Dense("classifier", b.Flatten("flat", y), 10), labels)));
  model.optimizer = {"sgd", {{"momentum", 0.9}}};
  model.learning_rate.base = 1e-2;
  return model;
}

using Splits = std::vector<std::pair<std::string, std::string>>;

// What single nodes are split by over two ranks, beside samples over `data`.
Strategy SplitBy(const Splits& splits, int data) {
  Strategy strategy;
  strategy.mesh = {{{"data", data}, {"model", 2}}};
  for (const auto& [node, split] : splits) {
    strategy.ops.push_back({node, {{"model", AxisConfig{split, 0, {}}}}, {}});
  }
  strategy.ops.push_back({"*", {{"data", AxisConfig{"samples", 0, {}}}}, {}});
  return strategy;
}

// Products by their outputs, that is by heads, and the one behind them by its inputs.
const Splits kByHeads = {{"query", "output_channels"},
                         {"keys", "output_channels"},
                         {"values", "output_channels"},
                         {"project", "input_channels"}};

absl::Status RunBeside(const Model& model, const Strategy& strategy) {
  return RunSideBySide(model, strategy, kSteps, [](int step) {
    const StepInputs batch = MakeBatch(1, step, DType::kF64, kSamples);
    return NamedTensors{batch.images, batch.labels};
  });
}

TEST(TransformerBlock, GivesWhatOneRankGives) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeBlock());
  const std::vector<Splits> strategies = {
      kByHeads,
      {{"attention", "heads"}},
      {{"attention", "dimension1"}},
      {{"norm", "dimension1"}, {"query", "dimension1"}, {"attention", "dimension1"}, {"both", "dimension1"}},
      {{"attention", "channels"}},
      {{"attention", "samples"}}};
  for (const Splits& splits : strategies) {
    for (const int data : {1, 2}) {
      const absl::Status status = RunBeside(model, SplitBy(splits, data));
      EXPECT_TRUE(status.ok()) << splits[0].first << " by " << splits[0].second << " " << data << ": " << status;
    }
  }
}

TEST(TransformerBlock, GivesWhatOneRankGivesUnderFlagsAndInMicroBatches) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeBlock());
  ASSERT_OK_AND_ASSIGN(const Strategy flags, DataModelStrategy(model.graph, 2, 2));
  Strategy micro = SplitBy(kByHeads, 1);
  micro.pipeline.micro_batches = 3;
  for (const Strategy& strategy : {flags, micro}) {
    const absl::Status status = RunBeside(model, strategy);
    EXPECT_TRUE(status.ok()) << status;
  }
}

// Megatron's split: nothing moves, forward or backward, from the products that make heads to the projection, whose
// output is a sum over the ranks.
TEST(TransformerBlock, HeadsFollowFromTheProductsAroundThem) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeBlock());
  ASSERT_OK_AND_ASSIGN(const Program program, StepOf(model, SplitBy(kByHeads, 1)));
  const LayerBytes moved = BytesOfLayers(program);
  EXPECT_TRUE(moved.contains({"reduce_scatter", "project"}));
  for (const auto& [move, bytes] : moved) {
    for (const char* const name : {"query", "keys", "values", "places", "attention", "joined"}) {
      EXPECT_NE(move.second.rfind(name, 0), 0u) << move.first << " of " << move.second << ": " << bytes;
    }
  }
}

}  // namespace
}  // namespace partita
