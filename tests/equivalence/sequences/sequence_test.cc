// A small block of a sequence model, of twelve rows of pixels each: layers on every place, layer norm, a transpose that
// lets places see each other, softmax and a gate. And two branches that are joined, dropped from and cut. Under splits
// of samples, channels, places and classes they go the way of one rank; so do products that compute bias and relu.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "graph/make_program.h"
#include "ops/graph_builder.h"
#include "ops/registry.h"
#include "partitioner/data_model_strategy.h"
#include "runtime/api/verify_plan.h"
#include "runtime/base/status.h"
#include "tests/equivalence/cases.h"
#include "tests/equivalence/side_by_side.h"
#include "tests/testing/assert_ok.h"

namespace partita {
namespace {

constexpr int64_t kSamples = 8, kPlaces = 12, kChannels = 6;
constexpr int kSteps = 5;

ValueId LayerNorm(GraphBuilder& b, const std::string& name, ValueId x) {
  const ValueId gamma = b.Parameter(name + "/gamma", {kChannels}, "constant", 1);
  const ValueId beta = b.Parameter(name + "/beta", {kChannels}, "constant", 0);
  return b.Add(name, "layer_norm", {x, gamma, beta});
}

absl::StatusOr<Model> MakeBlock() {
  GraphBuilder b(Ops());
  const Attributes turned = {{"permutation", IntList{0, 2, 1}}};
  const ValueId images = b.Input("images", DType::kF32, {kSamples, 12, 12, 1});
  const ValueId labels = b.Input("labels", DType::kI32, {kSamples});
  const ValueId rows = b.Add("rows", "reshape", {images}, {{"shape", IntList{kSamples, kPlaces, 12}}});
  const ValueId x = b.Dense("embed", rows, kChannels);
  const ValueId across = b.Add("across", "transpose", {LayerNorm(b, "norm", x)}, turned);
  const ValueId seen = b.Add("seen", "softmax", {b.Dense("mix", across, kPlaces)});
  const ValueId back = b.Add("back", "transpose", {b.Add("weighed", "mul", {seen, across})}, turned);
  const ValueId gated = b.Add("gated", "div", {back, b.Sigmoid("gate", x)});
  const ValueId y = LayerNorm(b, "last_norm", b.Add("both", "add", {x, gated}));
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

TEST(SequenceBlock, GoesTheWayOfOneRank) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeBlock());
  for (const auto& [data, split] : {std::pair{2, 1}, {1, 2}, {2, 2}}) {
    ASSERT_OK_AND_ASSIGN(const Strategy strategy, DataModelStrategy(model.graph, data, split));
    const absl::Status status = RunBeside(model, strategy);
    EXPECT_TRUE(status.ok()) << data << " x " << split << ": " << status;
  }
}

// What single nodes are split by, over an axis of two.
TEST(SequenceBlock, GoesTheWayOfOneRankUnderSplitsOfItsOwn) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeBlock());
  const std::vector<std::vector<std::pair<std::string, std::string>>> strategies = {
      {{"seen", "classes"}},
      {{"embed/matmul", "dimension1"}, {"norm", "dimension1"}, {"across", "dimension1"}},
      {{"embed/matmul", "input_channels"}, {"mix/matmul", "output_channels"}, {"gated", "channels"}}};
  for (const auto& splits : strategies) {
    Strategy strategy;
    strategy.mesh = {{{"model", 2}}};
    for (const auto& [node, split] : splits) {
      strategy.ops.push_back({node, {{"model", AxisConfig{split, 0, {}}}}, {}});
    }
    const absl::Status status = RunBeside(model, strategy);
    EXPECT_TRUE(status.ok()) << splits[0].first << " by " << splits[0].second << ": " << status;
  }
}

// Two branches, of which the one ends with a relu, side by side; some of it dropped, and two overlapping runs of its
// places one behind the other, without the first channels.
absl::StatusOr<Model> MakeBranches() {
  GraphBuilder b(Ops());
  const auto cut = [&b](const char* name, ValueId x, Shape begin, Shape size) {
    return b.Add(name, "slice", {x}, {{"begin", std::move(begin)}, {"size", std::move(size)}});
  };
  const ValueId images = b.Input("images", DType::kF32, {kSamples, 12, 12, 1});
  const ValueId labels = b.Input("labels", DType::kI32, {kSamples});
  const ValueId rows = b.Add("rows", "reshape", {images}, {{"shape", IntList{kSamples, kPlaces, 12}}});
  const ValueId left = b.Relu("left/relu", b.Dense("left", rows, kChannels));
  const ValueId right = b.Add("right/tanh", "tanh", {b.Dense("right", rows, kChannels)});
  const ValueId dropped = b.Dropout("dropped", b.Concat("both", {left, right}, 2), 0.3);
  const ValueId front = cut("front", dropped, {0, 0, 0}, {-1, 8, -1}),
                back = cut("back", dropped, {0, 4, 0}, {-1, 8, -1});
  const ValueId part = cut("part", b.Concat("all", {front, back}, 1), {0, 0, 2}, {-1, -1, 10});
  Model model;
  ASSIGN_OR_RETURN(model.graph,
                   b.Build(b.SoftmaxCrossEntropy("loss", b.Dense("classifier", b.Flatten("flat", part), 10), labels)));
  model.optimizer = {"sgd", {{"momentum", 0.9}}};
  model.learning_rate.base = 1e-2;
  return model;
}

using Splits = std::vector<std::pair<std::string, std::string>>;

// What single nodes are split by over an axis of two, beside samples over another one.
Strategy SplitBy(const Splits& splits, int data) {
  Strategy strategy;
  strategy.mesh = {{{"data", data}, {"model", 2}}};
  for (const auto& [node, split] : splits) {
    strategy.ops.push_back({node, {{"model", AxisConfig{split, 0, {}}}}, {}});
  }
  strategy.ops.push_back({"*", {{"data", AxisConfig{"samples", 0, {}}}}, {}});
  return strategy;
}

TEST(SequenceBranches, GoTheWayOfOneRank) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeBranches());
  const std::vector<Splits> strategies = {{{"both", "samples"}, {"dropped", "samples"}, {"front", "samples"}},
                                          {{"both", "dimension1"}, {"dropped", "dimension1"}, {"part", "dimension1"}},
                                          {{"dropped", "channels"}, {"front", "channels"}, {"all", "channels"}},
                                          {{"left/matmul", "output_channels"}, {"right/tanh", "channels"}}};
  for (const Splits& splits : strategies) {
    for (const int data : {1, 2}) {
      const absl::Status status = RunBeside(model, SplitBy(splits, data));
      EXPECT_TRUE(status.ok()) << splits[0].first << " by " << splits[0].second << " " << data << ": " << status;
    }
  }
}

TEST(SequenceBranches, JoinedProductsComputeWhatTheirPartsDo) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeBranches());
  for (const char* const split : {"samples", "dimension1", "output_channels"}) {
    SCOPED_TRACE(split);
    ASSERT_OK_AND_ASSIGN(Program serial, StepOf(model, Strategy{}));
    const ProgramOptions fused{.floating = DType::kF64, .verify_passes = true};
    ASSERT_OK_AND_ASSIGN(Program plan, MakeProgram(model, SplitBy({{"left/matmul", split}}, 2), Ops(), fused));
    const auto& nodes = plan.graph(kTrainEntry).nodes();
    EXPECT_GE(std::ranges::count_if(nodes, [](const Node& node) { return node.op->name == "matmul_epilogue"; }), 2);
    VerifyPlanOptions options;
    options.session.threads_per_rank = 1;
    options.tolerance = 1e-10;
    options.floor = 1e-6;
    options.same_beginning = false;
    ASSERT_OK_AND_ASSIGN(const auto verifier, PlanVerifier::Start(std::move(serial), std::move(plan), options));
    for (int step = 0; step < kSteps; ++step) {
      const StepInputs batch = MakeBatch(1, step, DType::kF64, kSamples);
      ASSERT_OK(verifier->StageInput("images", batch.images));
      ASSERT_OK(verifier->StageInput("labels", batch.labels));
      ASSERT_OK_AND_ASSIGN(const StepComparison comparison, verifier->Step());
      const TensorDifference* const first = comparison.First();
      ASSERT_EQ(first, nullptr) << "step " << step << ": " << ToString(*first);
    }
  }
}

}  // namespace
}  // namespace partita
