// The shipped models have the sizes that are promised, scale down, and their examples are what the builders write.
#include "tools/models/models.h"

#include <gtest/gtest.h>

#include "graph/proto_io/proto_io.h"
#include "ops/registry.h"
#include "runtime/base/files.h"

namespace partita {
namespace {

constexpr char kExamples[] = "tools/models/examples/";

Model Make(const std::string& name, const ModelOptions& options = {}) {
  absl::StatusOr<Model> model = MakeModel(name, options, Ops());
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

int CountOp(const Graph& graph, const std::string& op) {
  int count = 0;
  for (const Node& node : graph.nodes()) count += node.op->name == op ? 1 : 0;
  return count;
}

std::string FileName(std::string model) {
  for (char& c : model) c = c == '-' ? '_' : c;
  return model;
}

TEST(MiniInception, HasThePromisedSizes) {
  const Graph graph = Make("mini-inception").graph;
  EXPECT_EQ(ParameterCount(graph), 118'394);
  EXPECT_NEAR(MultiplyAdds(graph) / 64, 8.5e6, 0.05e6);
  EXPECT_EQ(graph.type(graph.Find("a_concat")).shape, (Shape{64, 14, 14, 104}));
  EXPECT_EQ(graph.type(graph.Find("b_concat")).shape, (Shape{64, 7, 7, 256}));
  EXPECT_EQ(CountOp(graph, "conv2d"), 15);
  EXPECT_EQ(CountOp(graph, "batch_norm"), 15);
  EXPECT_EQ(CountOp(graph, "dropout"), 1);
}

TEST(LeNet5, HasThePromisedSizes) {
  const Graph graph = Make("lenet5").graph;
  EXPECT_EQ(ParameterCount(graph), 61'706);
  EXPECT_EQ(graph.type(graph.Find("flatten")).shape, (Shape{64, 400}));
}

TEST(Mlp, HasThePromisedSizes) {
  EXPECT_EQ(ParameterCount(Make("mlp").graph), 784 * 256 + 256 + 256 * 128 + 128 + 128 * 10 + 10);
}

class EveryModel : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryModel, ScalesDown) {
  ModelOptions options{.batch = 7, .image_size = 12, .channel_limit = 8};
  for (bool extras : {false, true}) {
    options.dropout = options.batch_norm = extras;
    const Graph graph = Make(GetParam(), options).graph;
    EXPECT_EQ(CountOp(graph, "dropout"), extras ? 1 : 0);
    EXPECT_EQ(CountOp(graph, "batch_norm") > 0, extras);
    for (const Node& node : graph.nodes()) {
      const bool limited = node.op->name != "conv2d" || graph.type(node.outputs[0]).shape.back() <= 8;
      EXPECT_TRUE(limited);
    }
    EXPECT_EQ(graph.type(graph.Find("classifier/bias")).shape, (Shape{7, 10}));
  }
}

TEST_P(EveryModel, ComesInF64) {
  const Graph graph = Make(GetParam(), {.batch = 2, .dtype = DType::kF64}).graph;
  for (const Value& value : graph.values()) EXPECT_NE(value.type.dtype, DType::kF32) << value.name;
}

TEST_P(EveryModel, IsTrainedByOneCycleSgd) {
  const Model model = Make(GetParam());
  EXPECT_EQ(model.name, GetParam());
  EXPECT_EQ(model.optimizer.attributes.Float("momentum"), 0.9);
  EXPECT_TRUE(model.optimizer.attributes.Bool("nesterov"));
  EXPECT_EQ(model.optimizer.attributes.Float("weight_decay"), 5e-4);
  EXPECT_EQ(model.learning_rate.schedule, "one_cycle");
  EXPECT_EQ(model.learning_rate.base, 0.1);
}

TEST_P(EveryModel, ExampleIsWhatTheBuilderWrites) {
  const std::string path = kExamples + FileName(GetParam()) + ".pbtxt";
  const absl::StatusOr<std::string> file = ReadFile(path, kLargestProtoFile);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(*file, PrintModel(Make(GetParam()), ProtoFormat::kText))
      << "write it anew: bazel run //tools/models:build_model -- " << GetParam() << " --output=" << path;
}

TEST_P(EveryModel, ExampleStrategiesFit) {
  const Graph graph = Make(GetParam()).graph;
  const bool inception = GetParam() == "mini-inception";
  const std::vector<std::string> kinds = inception ? std::vector<std::string>{"2x2", "mixed"}
                                                   : std::vector<std::string>{"data_model", "placement", "mixed"};
  for (const std::string& kind : kinds) {
    const absl::StatusOr<Strategy> strategy = LoadStrategy(kExamples + FileName(GetParam()) + "_" + kind + ".pbtxt");
    ASSERT_TRUE(strategy.ok()) << strategy.status();
    EXPECT_EQ(strategy->mesh.ToString(), "data:2 model:2");
    EXPECT_TRUE(CheckStrategy(*strategy, graph).ok()) << kind << ": " << CheckStrategy(*strategy, graph);
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryModel, ::testing::ValuesIn(ModelNames()),
                         [](const auto& info) { return FileName(info.param); });

TEST(MakeModel, RefusesWhatCannotBe) {
  EXPECT_EQ(MakeModel("lenet", {}, Ops()).status().message(), "model 'lenet' is unknown; did you mean 'lenet5'?");
  EXPECT_EQ(MakeModel("lenet5", {.image_size = 4}, Ops()).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(MakeModel("mlp", {.batch = 0}, Ops()).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace partita
