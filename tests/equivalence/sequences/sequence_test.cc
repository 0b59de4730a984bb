// A small block of a sequence model, of twelve rows of pixels each: layers on every place, layer norm, a transpose that
// lets places see each other, softmax and a gate. Under splits of samples, channels, places and classes it goes the way
// of one rank.
#include <gtest/gtest.h>

#include "ops/graph_builder.h"
#include "ops/registry.h"
#include "partitioner/data_model_strategy.h"
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

}  // namespace
}  // namespace partita
