// Plans whose 1 x 1 convolutions come before the average poolings that they read (ops/fusions/pool_last.h), and whose
// gradients are added while they are made (sum_input_gradients.h), beside the serial run in which nothing is changed:
// in f64, over splits of samples, channels and rows, and on stages of which one ends between such a pair.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "graph/ir/op_definition.h"
#include "graph/make_program.h"
#include "ops/graph_builder.h"
#include "ops/registry.h"
#include "partitioner/data_model_strategy.h"
#include "runtime/api/verify_plan.h"
#include "tests/equivalence/small_batch.h"
#include "tests/testing/assert_ok.h"

namespace partita {
namespace {

constexpr int64_t kSamples = 6, kClasses = 5, kMicroBatches = 3;
constexpr int kSteps = 3;
const Shape kImages = {kSamples, 7, 5, 2};

ValueId Convolve(GraphBuilder& b, const std::string& name, ValueId x, int64_t channels, int64_t kernel) {
  return b.Add(name + "/tanh", "tanh",
               {b.Conv2d(name, x, {.channels = channels, .kernel = kernel, .padding = kernel / 2})});
}

// Two blocks, of which the poolings treat the border in either way: three 1 x 1 convolutions read what the first one
// is given, one of them behind a pooling; in the second, one of 3 x 3 as well, and a bias follows.
absl::StatusOr<Model> MakeModel() {
  GraphBuilder b(Ops());
  const ValueId images = b.Input("images", DType::kF32, kImages), labels = b.Input("labels", DType::kI32, {kSamples});
  ValueId x = Convolve(b, "stem", images, 8, 3);
  const ValueId means = b.AveragePool("a3_pool", x, {.kernel = 3, .padding = 1, .count_padding = false});
  x = b.Concat("a_concat",
               {Convolve(b, "a1", x, 3, 1), Convolve(b, "a2_3x3", Convolve(b, "a2", x, 2, 1), 3, 3),
                Convolve(b, "a3", means, 3, 1)},
               3);
  const ValueId more_means = b.AveragePool("b4_pool", x, {.kernel = 3, .padding = 1});
  const ValueId fourth = b.Conv2d("b4", more_means, {.channels = 4, .kernel = 1});
  x = b.Concat("b_concat",
               {Convolve(b, "b1", x, 4, 3), Convolve(b, "b2", x, 5, 1), Convolve(b, "b3", x, 2, 1),
                b.Add("b4/tanh", "tanh", {b.Bias("b4/bias", fourth)})},
               3);
  x = b.Dense("classifier", b.GlobalAveragePool("pool", x), kClasses);
  Model model;
  ASSIGN_OR_RETURN(model.graph, b.Build(b.SoftmaxCrossEntropy("loss", x, labels), {b.Accuracy("accuracy", x, labels)}));
  model.optimizer = {"sgd", {}};
  model.learning_rate.base = 1e-2;
  return model;
}

// The first block but for what its pooling is read by, and then the rest.
Strategy Stages() {
  Strategy strategy;
  strategy.mesh.axes = {{"stage", 2}};
  strategy.pipeline = {kMicroBatches, "stage", PipelineOrder::kOneForwardOneBackward};
  for (const char* first : {"images", "stem*", "a1*", "a2*", "a3_pool"}) {
    strategy.ops.push_back({first, {{"stage", {"at", 0, {}}}}, {}});
  }
  strategy.ops.push_back({"*", {{"stage", {"at", 1, {}}}}, {}});
  return strategy;
}

struct Split {
  std::string name;
  int data = 1, model = 1;
  LayerSplit convolutions = LayerSplit::kChannels;
  int64_t sums = 2, micro_batches = 1;  // that the plan has
};

void PrintTo(const Split& split, std::ostream* out) { *out << split.name; }

absl::StatusOr<Strategy> StrategyOf(const Split& split, const Graph& forward) {
  if (split.name == "stages") return Stages();
  return DataModelStrategy(forward, split.data, split.model, {.convolutions = split.convolutions});
}

int64_t Sums(const Graph& graph) {
  return std::ranges::count(graph.nodes(), "conv2d_input_grad_sum", [](const Node& node) { return node.op->name; });
}

int64_t PoolingsBehind(const Graph& graph) {
  int64_t count = 0;
  for (const Node& node : graph.nodes()) {
    if (node.op->name != "average_pool") continue;
    const Value& pooled = graph.value(node.outputs[0]);
    count += pooled.name.find("@pooled") != std::string::npos && pooled.type.shape[3] <= 4;
  }
  return count;
}

class PixelConvolutions : public testing::TestWithParam<Split> {};

TEST_P(PixelConvolutions, ComputeWhatTheyDoAsTheyAreWritten) {
  const Split& split = GetParam();
  ASSERT_OK_AND_ASSIGN(const Model model, MakeModel());
  ASSERT_OK_AND_ASSIGN(const Strategy strategy, StrategyOf(split, model.graph));
  const ProgramOptions apart{.floating = DType::kF64, .fuse = false, .verify_passes = true};
  const ProgramOptions fused{.floating = DType::kF64, .verify_passes = true};
  ASSERT_OK_AND_ASSIGN(Program serial, MakeProgram(model, Strategy{}, Ops(), apart));
  ASSERT_OK_AND_ASSIGN(Program plan, MakeProgram(model, strategy, Ops(), fused));
  for (const char* entry : {kTrainEntry, kEvaluateEntry}) {
    EXPECT_EQ(PoolingsBehind(serial.graph(entry)), 0);
    EXPECT_EQ(PoolingsBehind(plan.graph(entry)), 2 * split.micro_batches);
  }
  EXPECT_EQ(Sums(serial.graph(kTrainEntry)), 0);
  EXPECT_EQ(Sums(plan.graph(kTrainEntry)), split.sums * split.micro_batches);
  VerifyPlanOptions options;
  options.session.threads_per_rank = 1;
  options.tolerance = 1e-10;
  options.floor = 1e-6;
  options.same_beginning = false;
  ASSERT_OK_AND_ASSIGN(const auto verifier, PlanVerifier::Start(std::move(serial), std::move(plan), options));
  EXPECT_EQ(verifier->gradients().size(), 12u);
  for (int step = 0; step < kSteps; ++step) {
    ASSERT_TRUE(verifier->StageInput("images", SmallImages(kImages, step)).ok());
    ASSERT_TRUE(verifier->StageInput("labels", SmallLabels(kSamples, kClasses, step)).ok());
    ASSERT_OK_AND_ASSIGN(const StepComparison comparison, verifier->Step());
    const TensorDifference* const first = comparison.First();
    ASSERT_EQ(first, nullptr) << "step " << step << ": " << ToString(*first);
  }
}

// Of cotangents that are split by channels nothing is summed.
INSTANTIATE_TEST_SUITE_P(Table, PixelConvolutions,
                         testing::Values(Split{"1x1"}, Split{"2x1", 2}, Split{"4x1", 4},
                                         Split{"1x2", 1, 2, LayerSplit::kChannels, 0},
                                         Split{"2x2", 2, 2, LayerSplit::kChannels, 0},
                                         Split{"rows", 1, 2, LayerSplit::kRows},
                                         Split{"2_x_rows", 2, 3, LayerSplit::kRows},
                                         Split{"stages", 1, 2, LayerSplit::kChannels, 2, kMicroBatches}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace partita
