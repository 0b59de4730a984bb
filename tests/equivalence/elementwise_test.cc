// Every op of ops/functors/elementwise.h between the layers of a small model: under splits of samples, channels and
// rows it goes the way of one rank, and in mixed precision it computes in bf16 and trains as in f32.
#include "ops/functors/elementwise.h"

#include <gtest/gtest.h>

#include <cmath>

#include "graph/ir/op_definition.h"
#include "ops/graph_builder.h"
#include "ops/registry.h"
#include "partitioner/data_model_strategy.h"
#include "runtime/api/session.h"
#include "runtime/base/status.h"
#include "tests/equivalence/cases.h"
#include "tests/equivalence/side_by_side.h"
#include "tests/testing/assert_ok.h"

namespace partita {
namespace {

constexpr int64_t kSamples = 8;
constexpr int kSteps = 20;

// What is defined for some numbers alone, or grows fast, reads numbers between 0 and 1.
ValueId Apply(GraphBuilder& b, const std::string& name, const std::string& op, ValueId x) {
  const bool anywhere = AtPlace(UnaryOps(), PlaceOf(UnaryOps(), op), []<typename F>() { return kIsActivation<F>; });
  return b.Add(name, op, {anywhere ? x : b.Sigmoid(name + "/between", x)});
}

absl::StatusOr<Model> MakeModel(const std::string& op) {
  GraphBuilder b(Ops());
  const ValueId images = b.Input("images", DType::kF32, {kSamples, 12, 12, 1});
  const ValueId labels = b.Input("labels", DType::kI32, {kSamples});
  ValueId x = Apply(b, "conv/op", op, b.Conv2d("conv", images, {.channels = 4, .kernel = 3, .padding = 1}));
  x = b.Flatten("flatten", b.AveragePool("pool", x, {.kernel = 3, .stride = 3}));
  x = b.Dense("classifier", Apply(b, "dense/op", op, b.Dense("dense", x, 9)), 10);
  Model model;
  ASSIGN_OR_RETURN(model.graph, b.Build(b.SoftmaxCrossEntropy("loss", x, labels)));
  model.optimizer = {"sgd", {{"momentum", 0.9}, {"weight_decay", 1e-4}}};
  model.learning_rate.base = 1e-2;
  return model;
}

class EveryUnaryOp : public testing::TestWithParam<std::string> {};

TEST_P(EveryUnaryOp, GoesTheWayOfOneRank) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeModel(GetParam()));
  for (const LayerSplit convolutions : {LayerSplit::kChannels, LayerSplit::kRows, LayerSplit::kSamples}) {
    ASSERT_OK_AND_ASSIGN(const Strategy strategy, DataModelStrategy(model.graph, 2, 2, {.convolutions = convolutions}));
    const absl::Status status = RunSideBySide(model, strategy, kSteps, [](int step) {
      const StepInputs batch = MakeBatch(1, step, DType::kF64, kSamples);
      return NamedTensors{batch.images, batch.labels};
    });
    EXPECT_TRUE(status.ok()) << status;
  }
}

// Noise is drawn for elements of the whole batch, and comparisons and masks are of the elements where they are.
TEST(DrawnNumbers, GoTheWayOfOneRank) {
  GraphBuilder b(Ops());
  const ValueId images = b.Input("images", DType::kF32, {kSamples, 12, 12, 1});
  const ValueId labels = b.Input("labels", DType::kI32, {kSamples});
  ValueId x = b.Conv2d("conv", images, {.channels = 4, .kernel = 3, .padding = 1});
  const auto noise = [&](const std::string& name, const std::string& distribution) {
    return b.Add(name, "noise", {x}, {{"distribution", distribution}});
  };
  x = b.Add("kept", "masked", {x, b.Add("above", "greater", {noise("uniform", "uniform"), x})});
  x = b.Add("moved", "add", {x, b.Add("small", "scale", {noise("normal", "normal")}, {{"factor", 0.1}})});
  x = b.Add("whole", "add", {x, b.Add("floor", "floor", {x})});
  x = b.Flatten("flatten", b.AveragePool("pool", x, {.kernel = 3, .stride = 3}));
  Model model;
  ASSERT_OK_AND_ASSIGN(model.graph, b.Build(b.SoftmaxCrossEntropy("loss", b.Dense("classifier", x, 10), labels)));
  model.optimizer = {"sgd", {}};
  model.learning_rate.base = 1e-2;
  for (const LayerSplit convolutions : {LayerSplit::kChannels, LayerSplit::kRows, LayerSplit::kSamples}) {
    for (const int64_t micro_batches : {1, 2}) {
      ASSERT_OK_AND_ASSIGN(Strategy strategy, DataModelStrategy(model.graph, 2, 2, {.convolutions = convolutions}));
      strategy.pipeline.micro_batches = micro_batches;
      const absl::Status status = RunSideBySide(model, strategy, 5, [](int step) {
        const StepInputs batch = MakeBatch(1, step, DType::kF64, kSamples);
        return NamedTensors{batch.images, batch.labels};
      });
      EXPECT_TRUE(status.ok()) << status;
    }
  }
}

// The types of what the op takes, forward and backward.
std::vector<DType> TypesAround(const Graph& graph, const std::string& op) {
  std::vector<DType> types;
  for (const Node& node : graph.nodes()) {
    if (node.op->name != op && node.op->name != op + "_grad") continue;
    for (const ValueId input : node.inputs) types.push_back(graph.type(input).dtype);
  }
  return types;
}

absl::StatusOr<std::vector<double>> Losses(Program program) {
  SessionOptions options;
  options.seed = 1;
  options.threads_per_rank = 1;
  ASSIGN_OR_RETURN(const auto session, Session::Start(std::move(program), options));
  std::vector<double> losses;
  for (int step = 0; step < kSteps; ++step) {
    const StepInputs batch = MakeBatch(3, step % 4, DType::kF32, kSamples);
    RETURN_IF_ERROR(session->StageInput(kTrainEntry, "images", batch.images));
    RETURN_IF_ERROR(session->StageInput(kTrainEntry, "labels", batch.labels));
    ASSIGN_OR_RETURN(const StepResult result, session->Train());
    losses.push_back(result.loss);
  }
  return losses;
}

TEST_P(EveryUnaryOp, TrainsInMixedPrecision) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeModel(GetParam()));
  ASSERT_OK_AND_ASSIGN(const Strategy strategy, DataModelStrategy(model.graph, 2, 2));
  const ProgramOptions mixed{.mix_precision = true, .fuse = false, .verify_passes = true};
  ASSERT_OK_AND_ASSIGN(Program plan, MakeProgram(model, strategy, Ops(), mixed));
  const std::vector<DType> types = TypesAround(plan.graph(kTrainEntry), GetParam());
  EXPECT_EQ(types, std::vector<DType>(6, DType::kBF16));
  ASSERT_OK_AND_ASSIGN(Program serial, SerialProgram(model, {}));
  ASSERT_OK_AND_ASSIGN(const std::vector<double> narrow, Losses(std::move(plan)));
  ASSERT_OK_AND_ASSIGN(const std::vector<double> wide, Losses(std::move(serial)));
  EXPECT_NE(narrow, wide);
  for (int step = 0; step < kSteps; ++step) {
    EXPECT_LE(std::abs(narrow[step] - wide[step]), 2e-2 * wide[step]) << "step " << step;
  }
}

INSTANTIATE_TEST_SUITE_P(List, EveryUnaryOp, testing::ValuesIn(NamesOf(SmoothOps())),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace partita
