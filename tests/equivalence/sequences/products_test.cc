// Attention as its author writes it, of products of activations: [n,t,c] as heads [n,h,t,d], scores q k^T, softmax, the
// mean of v. Under splits of samples, heads, queries, keys and channels it goes the way of one rank.
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "ops/graph_builder.h"
#include "ops/registry.h"
#include "partitioner/data_model_strategy.h"
#include "runtime/base/status.h"
#include "tests/equivalence/cases.h"
#include "tests/equivalence/side_by_side.h"
#include "tests/testing/assert_ok.h"

namespace partita {
namespace {

// No size is a multiple of two ranks but the places.
constexpr int64_t kSamples = 7, kPlaces = 12, kHeads = 3, kDepth = 5, kChannels = kHeads * kDepth;
constexpr int kSteps = 4;

ValueId Heads(GraphBuilder& b, const std::string& name, ValueId x) {
  const ValueId product = b.MatMul(name, x, kChannels, "glorot_normal");
  const ValueId apart =
      b.Add(name + "/apart", "reshape", {product}, {{"shape", IntList{kSamples, kPlaces, kHeads, kDepth}}});
  return b.Add(name + "/heads", "transpose", {apart}, {{"permutation", IntList{0, 2, 1, 3}}});
}

absl::StatusOr<Model> MakeAttention() {
  GraphBuilder b(Ops());
  const ValueId images = b.Input("images", DType::kF32, {kSamples, kPlaces, 12, 1});
  const ValueId labels = b.Input("labels", DType::kI32, {kSamples});
  const ValueId rows = b.Add("rows", "reshape", {images}, {{"shape", IntList{kSamples, kPlaces, 12}}});
  const ValueId x = b.Dense("embed", rows, kChannels);
  const ValueId q = Heads(b, "q", x), k = Heads(b, "k", x), v = Heads(b, "v", x);
  const ValueId scores = b.Add("scores", "batch_matmul", {q, k}, {{"transpose_y", true}});
  const ValueId scaled = b.Add("scaled", "scale", {scores}, {{"factor", 0.447}});
  const ValueId context = b.Add("context", "batch_matmul", {b.Add("shares", "softmax", {scaled}), v});
  const ValueId back = b.Add("back", "transpose", {context}, {{"permutation", IntList{0, 2, 1, 3}}});
  const ValueId joined = b.Add("joined", "reshape", {back}, {{"shape", IntList{kSamples, kPlaces, kChannels}}});
  const ValueId y = b.Add("y", "add", {x, b.Dense("out", joined, kChannels)});
  Model model;
  ASSIGN_OR_RETURN(model.graph,
                   b.Build(b.SoftmaxCrossEntropy("loss", b.Dense("classifier", b.Flatten("flat", y), 10), labels)));
  model.optimizer = {"sgd", {{"momentum", 0.9}}};
  model.learning_rate.base = 1e-2;
  return model;
}

absl::Status RunBeside(const Model& model, const Strategy& strategy) {
  return RunSideBySide(model, strategy, kSteps, [](int step) {
    const StepInputs batch = MakeBatch(1, step, DType::kF64, kSamples);
    return NamedTensors{batch.images, batch.labels};
  });
}

TEST(AttentionOfProducts, GoesTheWayOfOneRank) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeAttention());
  for (const auto& [data, split] : {std::pair{2, 1}, {1, 2}, {2, 2}, {3, 1}}) {
    ASSERT_OK_AND_ASSIGN(const Strategy strategy, DataModelStrategy(model.graph, data, split));
    const absl::Status status = RunBeside(model, strategy);
    EXPECT_TRUE(status.ok()) << data << " x " << split << ": " << status;
  }
}

using Splits = std::vector<std::pair<std::string, AxisConfig>>;

// Over an axis of two, beside samples over another one.
Strategy SplitBy(const Splits& splits, int data) {
  Strategy strategy;
  strategy.mesh = {{{"data", data}, {"model", 2}}};
  for (const auto& [node, split] : splits) strategy.ops.push_back({node, {{"model", split}}, {}});
  strategy.ops.push_back({"*", {{"data", AxisConfig{"samples", 0, {}}}}, {}});
  return strategy;
}

TEST(AttentionOfProducts, GoesTheWayOfOneRankUnderSplitsOfItsOwn) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeAttention());
  const auto by = [](const std::string& name) { return AxisConfig{name, 0, {}}; };
  // Whole heads: ten channels on the first rank, five on the second.
  const AxisConfig heads{"output_channels", 0, {0, 10, 15}};
  const std::vector<Splits> strategies = {
      {{"q", heads}, {"k", heads}, {"v", heads}, {"out/matmul", by("input_channels")}},
      {{"scores", by("height")}, {"context", by("height")}},
      {{"scores", by("width")}, {"context", by("width")}},
      {{"scores", by("output_channels")}, {"shares", by("classes")}, {"context", by("input_channels")}},
      {{"scores", by("input_channels")}, {"context", by("output_channels")}},
  };
  for (const Splits& splits : strategies) {
    for (const int data : {1, 2}) {
      const absl::Status status = RunBeside(model, SplitBy(splits, data));
      EXPECT_TRUE(status.ok()) << splits[0].first << " by " << splits[0].second.split << " " << data << ": " << status;
    }
  }
}

// A rank computes the scores and contexts of its heads, by a strategy's words and under --mp: no bytes are sent from
// the heads of q, k and v until their contexts are joined.
TEST(AttentionOfProducts, HeadsMoveNothingBetweenTheirProducts) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeAttention());
  const AxisConfig heads{"output_channels", 0, {0, 10, 15}};
  const Splits splits = {{"q", heads}, {"k", heads}, {"v", heads}, {"out/matmul", {"input_channels", 0, {}}}};
  ASSERT_OK_AND_ASSIGN(const Strategy by_flags, DataModelStrategy(model.graph, 1, 2));
  for (const auto& [strategy, move, value] :
       {std::tuple{SplitBy(splits, 1), "all_reduce", "out/matmul"}, std::tuple{by_flags, "all_gather", "joined"}}) {
    ASSERT_OK_AND_ASSIGN(const Program program, StepOf(model, strategy));
    const LayerBytes moved = BytesOfLayers(program);
    EXPECT_TRUE(moved.contains({move, value})) << move << " of " << value;
    for (const auto& [layer, bytes] : moved) {
      for (const char* const part : {"scores", "scaled", "shares", "context", "back"}) {
        EXPECT_FALSE(layer.second.starts_with(part)) << layer.first << " of " << layer.second << ": " << bytes;
      }
    }
  }
}

}  // namespace
}  // namespace partita
