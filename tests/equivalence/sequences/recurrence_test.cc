// Two directions of an LSTM over twelve rows of pixels each, one with a projection, joined, and another LSTM on top.
// Under splits of samples, micro-batches, and with the directions on ranks of their own it goes the way of one rank.
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

constexpr int64_t kSamples = 8, kPlaces = 12, kUnits = 5, kProjected = 3;
constexpr int kSteps = 5;

// What each place adds by itself, then the loop; `outputs` other than the units are those of a projection.
ValueId Lstm(GraphBuilder& b, const std::string& name, ValueId x, int64_t outputs, const Attributes& attributes) {
  const ValueId g = b.Dense(name + "/input", x, 4 * kUnits, "glorot_uniform");
  const ValueId w = b.Parameter(name + "/recurrent", {outputs, 4 * kUnits}, "glorot_uniform");
  const ValueId projection =
      outputs == kUnits ? kNoValue : b.Parameter(name + "/projection", {kUnits, outputs}, "glorot_uniform");
  return b.Add(name, "lstm", {g, w, projection, kNoValue, kNoValue, kNoValue}, attributes);
}

absl::StatusOr<Model> MakeNetwork() {
  GraphBuilder b(Ops());
  const ValueId images = b.Input("images", DType::kF32, {kSamples, 12, 12, 1});
  const ValueId labels = b.Input("labels", DType::kI32, {kSamples});
  const ValueId rows = b.Add("rows", "reshape", {images}, {{"shape", IntList{kSamples, kPlaces, 12}}});
  const ValueId ahead = Lstm(b, "ahead", rows, kUnits, {{"forget_bias", 1.0}});
  const ValueId back = Lstm(b, "back", rows, kProjected, {{"reverse", true}});
  const ValueId both = b.Dropout("dropout", b.Concat("both", {ahead, back}, 2), 0.2);
  const ValueId top = Lstm(b, "top", both, kUnits, {});
  Model model;
  ASSIGN_OR_RETURN(model.graph,
                   b.Build(b.SoftmaxCrossEntropy("loss", b.Dense("classifier", b.Flatten("flat", top), 10), labels)));
  model.optimizer = {"sgd", {{"momentum", 0.9}}};
  model.optimizer.clip_norm = 1;
  model.learning_rate.base = 0.1;
  return model;
}

absl::Status RunBeside(const Model& model, const Strategy& strategy) {
  return RunSideBySide(model, strategy, kSteps, [](int step) {
    const StepInputs batch = MakeBatch(1, step, DType::kF64, kSamples);
    return NamedTensors{batch.images, batch.labels};
  });
}

TEST(Recurrence, GoesTheWayOfOneRank) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeNetwork());
  for (const auto& [data, split] : {std::pair{2, 1}, {3, 1}, {1, 2}, {2, 2}}) {
    ASSERT_OK_AND_ASSIGN(const Strategy strategy, DataModelStrategy(model.graph, data, split));
    const absl::Status status = RunBeside(model, strategy);
    EXPECT_TRUE(status.ok()) << data << " x " << split << ": " << status;
  }
}

// Each direction on a rank of its own.
TEST(Recurrence, GoesTheWayOfOneRankInPlaces) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeNetwork());
  Strategy strategy;
  strategy.mesh = {{{"model", 2}}};
  strategy.ops.push_back({"ahead*", {{"model", AxisConfig{"at", 0, {}}}}, {}});
  strategy.ops.push_back({"back*", {{"model", AxisConfig{"at", 1, {}}}}, {}});
  strategy.ops.push_back({"top", {{"model", AxisConfig{"samples", 0, {}}}}, {}});
  EXPECT_OK(RunBeside(model, strategy));
}

TEST(Recurrence, GoesTheWayOfOneRankInMicroBatches) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeNetwork());
  ASSERT_OK_AND_ASSIGN(Strategy strategy, DataModelStrategy(model.graph, 2, 1));
  strategy.pipeline.micro_batches = 2;
  EXPECT_OK(RunBeside(model, strategy));
}

}  // namespace
}  // namespace partita
