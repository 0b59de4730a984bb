// The shipped models have the sizes that are promised, scale down, and their examples are what the builders write.
#include "tools/models/models.h"

#include <gtest/gtest.h>

#include "graph/ir/node_flops.h"
#include "graph/make_program.h"
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

double MegaMultiplyAdds(const std::string& name) { return MultiplyAdds(Make(name, {.batch = 1}).graph) / 1e6; }

TEST(InceptionV3, HasThePromisedSizes) {
  const Graph graph = Make("inception-v3", {.batch = 1}).graph;
  EXPECT_EQ(ParameterCount(graph), 23'834'568);
  EXPECT_NEAR(MultiplyAdds(graph) / 1e6, 5713, 0.5);
  EXPECT_EQ(CountOp(graph, "conv2d"), 94);
  EXPECT_EQ(ParameterCount(Make("inception-v3", {.batch = 2, .auxiliary_head = true}).graph), 27'161'264);
}

// Three times what the forward pass computes, less the gradient by the images, which nobody needs.
TEST(InceptionV3, TrainsInThePromisedFlops) {
  constexpr int64_t kBatch = 2;
  Model model = Make("inception-v3", {.batch = kBatch, .auxiliary_head = true});
  const absl::StatusOr<Program> program = MakeProgram(model, {}, Ops());
  ASSERT_TRUE(program.ok()) << program.status();
  const Graph& training = program->graph(kTrainEntry);
  double flops = 0;
  for (const Node& node : training.nodes()) {
    const bool multiplies = node.op->name.starts_with("conv2d") || node.op->name.starts_with("matmul");
    if (multiplies) flops += FlopsOf(training, node) / kBatch;
  }
  EXPECT_NEAR(flops, 34.28e9, 0.01e9);
  const double images_gradient = 2.0 * 149 * 149 * 32 * 27;
  EXPECT_NEAR(flops + images_gradient, 3 * 2 * MultiplyAdds(model.graph) / kBatch, 0.001e9);
}

// Rate and floor of TensorFlow's TPU recipe for 1024 images a step, and its averages where they are asked for.
TEST(InceptionV3, IsTrainedByTheTpuRecipe) {
  const Model model = Make("inception-v3", {.batch = 1024});
  EXPECT_EQ(model.learning_rate.schedule, "step");
  EXPECT_NEAR(model.learning_rate.base, 0.66, 1e-12);
  EXPECT_NEAR(model.learning_rate.final, 0.66e-4, 1e-12);
  EXPECT_FALSE(model.optimizer.average.has_value());
  const Model averaged = Make("inception-v3", {.batch = 1024, .average = 0.995});
  ASSERT_TRUE(averaged.optimizer.average.has_value());
  EXPECT_EQ(averaged.optimizer.average->decay, 0.995);
  EXPECT_EQ(averaged.optimizer.average->pattern, "*");
}

TEST(InceptionV3, HasThePromisedBlocks) {
  const Graph graph = Make("inception-v3", {.batch = 2}).graph;
  const auto shape = [&](const std::string& value) { return graph.type(graph.Find(value)).shape; };
  EXPECT_EQ(shape("stem/pool2"), (Shape{2, 35, 35, 192}));
  EXPECT_EQ(shape("mixed_5b/concat"), (Shape{2, 35, 35, 256}));
  EXPECT_EQ(shape("mixed_5d/concat"), (Shape{2, 35, 35, 288}));
  EXPECT_EQ(shape("mixed_6a/concat"), (Shape{2, 17, 17, 768}));
  EXPECT_EQ(shape("mixed_6e/concat"), (Shape{2, 17, 17, 768}));
  EXPECT_EQ(shape("mixed_7a/concat"), (Shape{2, 8, 8, 1280}));
  EXPECT_EQ(shape("mixed_7c/concat"), (Shape{2, 8, 8, 2048}));
}

TEST(InceptionV3, HasTheFormsOfItsImplementations) {
  const auto pool = [](const ModelOptions& options) {
    const Graph graph = Make("inception-v3", options).graph;
    return graph.node(graph.value(graph.Find("mixed_7c/4_pool")).producer);
  };
  EXPECT_EQ(pool({}).op->name, "average_pool");
  EXPECT_FALSE(pool({}).attributes.Bool("count_padding"));
  EXPECT_TRUE(pool({.count_padding = true}).attributes.Bool("count_padding"));
  EXPECT_EQ(pool({.last_pool_is_max = true}).op->name, "max_pool");
}

TEST(InceptionV3, FitsImagesOfManySizes) {
  for (const int64_t size : {75, 96, 107, 128, 224, 299, 320}) {
    for (const bool head : {false, true}) {
      const ModelOptions options{.batch = 2, .image_size = size, .auxiliary_head = head};
      EXPECT_TRUE(MakeModel("inception-v3", options, Ops()).ok()) << size << " pixels, head " << head;
    }
  }
  EXPECT_EQ(MakeModel("inception-v3", {.image_size = 74}, Ops()).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(ResNet50, HasThePromisedSizes) {
  EXPECT_EQ(ParameterCount(Make("resnet-50").graph), 25'557'032);
  EXPECT_NEAR(MegaMultiplyAdds("resnet-50"), 4089, 0.5);
}

TEST(AlexNet, HasThePromisedSizes) {
  EXPECT_EQ(ParameterCount(Make("alexnet").graph), 61'100'840);
  EXPECT_NEAR(MegaMultiplyAdds("alexnet"), 714, 0.5);
  EXPECT_EQ(ParameterCount(Make("alexnet-2012").graph), 62'378'344);
}

TEST(Vgg16, HasThePromisedSizes) {
  EXPECT_EQ(ParameterCount(Make("vgg-16").graph), 138'357'544);
  EXPECT_NEAR(MegaMultiplyAdds("vgg-16"), 15'470, 0.5);
}

// As torchvision's, and as its tables count multiply-adds.
TEST(MobileNetV3Large, HasThePromisedSizes) {
  const Graph graph = Make("mobilenet-v3-large").graph;
  EXPECT_EQ(ParameterCount(graph), 5'483'032);
  EXPECT_NEAR(MegaMultiplyAdds("mobilenet-v3-large"), 217, 0.5);
  EXPECT_EQ(CountOp(graph, "hard_swish"), 21);
  EXPECT_EQ(CountOp(graph, "hard_sigmoid"), 8);
  EXPECT_EQ(graph.type(graph.Find("last/conv")).shape, (Shape{64, 7, 7, 960}));
}

// Another width has the channels of torchvision's width_mult.
TEST(MobileNetV3Large, ChannelsOfAnotherWidthAreMultiplesOfEight) {
  const auto parameters = [](double width) {
    return ParameterCount(Make("mobilenet-v3-large", {.width = width}).graph);
  };
  EXPECT_EQ(parameters(0.35), 997'064);
  EXPECT_EQ(parameters(0.75), 3'377'576);
  EXPECT_EQ(parameters(1.4), 9'989'328);
}

TEST(EfficientNetB0, HasThePromisedSizes) {
  const Graph graph = Make("efficientnet-b0").graph;
  EXPECT_EQ(ParameterCount(graph), 5'288'548);
  EXPECT_NEAR(MegaMultiplyAdds("efficientnet-b0"), 386, 0.5);
  EXPECT_EQ(CountOp(graph, "mul"), 16);
  EXPECT_EQ(graph.type(graph.Find("last/conv")).shape, (Shape{64, 7, 7, 1280}));
}

// The authors' rates, for the 256 samples that they trained on; a smaller batch would diverge at them.
TEST(StaircaseSgd, RatesAreProportionalToTheBatch) {
  const std::pair<const char*, double> rates[] = {
      {"resnet-50", 0.1}, {"alexnet", 0.01}, {"alexnet-2012", 0.01}, {"vgg-16", 0.01}};
  for (const auto& [model, rate] : rates) {
    EXPECT_DOUBLE_EQ(Make(model, {.batch = 256}).learning_rate.base, rate) << model;
    EXPECT_DOUBLE_EQ(Make(model, {.batch = 4}).learning_rate.base, rate * 4 / 256) << model;
  }
}

class EveryModel : public ::testing::TestWithParam<std::string> {};

int64_t SmallestImages(const std::string& model) {
  if (model == "inception-v3") return 75;
  if (model == "vgg-16") return 32;
  return model.starts_with("alexnet") ? 67 : 12;
}

TEST_P(EveryModel, IsAsWideAsAsked) {
  const Graph whole = Make(GetParam(), {.batch = 2}).graph, half = Make(GetParam(), {.batch = 2, .width = 0.5}).graph;
  const auto classifier_inputs = [](const Graph& graph) {
    return graph.type(graph.Find("classifier/matmul/weights")).shape[0];
  };
  EXPECT_EQ(2 * classifier_inputs(half), classifier_inputs(whole));
}

TEST_P(EveryModel, TakesWhatItsLayersAreTold) {
  ModelOptions options{.batch = 2, .dropout = true, .batch_norm = true};
  options.dropout_rate = 0.25;
  options.label_smoothing = 0.125;
  options.batch_norm_epsilon = 0.5;
  options.batch_norm_momentum = 0.75;
  const Graph graph = Make(GetParam(), options).graph;
  for (const Node& node : graph.nodes()) {
    const auto expect = [&](const std::string& op, const std::string& attribute, double value) {
      if (node.op->name != op) return;
      EXPECT_EQ(node.attributes.Float(attribute), value) << op;
    };
    expect("dropout", "rate", 0.25);
    expect("softmax_cross_entropy", "label_smoothing", 0.125);
    expect("batch_norm", "epsilon", 0.5);
    expect("batch_norm", "momentum", 0.75);
  }
}

TEST_P(EveryModel, ScalesDown) {
  ModelOptions options{.batch = 7, .image_size = SmallestImages(GetParam()), .channel_limit = 8, .classes = 11};
  for (bool extras : {false, true}) {
    options.dropout = options.batch_norm = extras;
    const Graph graph = Make(GetParam(), options).graph;
    EXPECT_EQ(CountOp(graph, "dropout") > 0, extras);
    EXPECT_EQ(CountOp(graph, "batch_norm") > 0, extras);
    for (const Node& node : graph.nodes()) {
      const bool limited = node.op->name != "conv2d" || graph.type(node.outputs[0]).shape.back() <= 8;
      EXPECT_TRUE(limited);
    }
    EXPECT_EQ(graph.type(graph.Find("classifier/bias")).shape, (Shape{7, 11}));
  }
}

// The losses of the blocks see their own parameters alone: behind each lies one stop_gradient.
TEST_P(EveryModel, HasLocalUpdatesIfAsked) {
  const Graph ordinary = Make(GetParam(), {.batch = 2}).graph;
  const Graph local = Make(GetParam(), {.batch = 2, .local_updates = true}).graph;
  EXPECT_EQ(CountOp(ordinary, "stop_gradient"), 0);
  EXPECT_EQ(ordinary.further_losses.size(), 0u);
  EXPECT_GT(CountOp(local, "stop_gradient"), 0);
  EXPECT_EQ(local.further_losses.size(), static_cast<size_t>(CountOp(local, "stop_gradient")));
  for (const FurtherLoss& loss : local.further_losses) {
    EXPECT_TRUE(loss.training_only);
    EXPECT_EQ(loss.weight, 1);
  }
}

TEST_P(EveryModel, ComesInF64) {
  const Graph graph = Make(GetParam(), {.batch = 2, .dtype = DType::kF64}).graph;
  for (const Value& value : graph.values()) EXPECT_NE(value.type.dtype, DType::kF32) << value.name;
}

INSTANTIATE_TEST_SUITE_P(All, EveryModel, ::testing::ValuesIn(ModelNames()),
                         [](const auto& info) { return FileName(info.param); });

// The graphs of the others are too long to be shipped as text.
class SmallModel : public ::testing::TestWithParam<std::string> {};

TEST_P(SmallModel, IsTrainedByOneCycleSgd) {
  const Model model = Make(GetParam());
  EXPECT_EQ(model.name, GetParam());
  EXPECT_EQ(model.optimizer.attributes.Float("momentum"), 0.9);
  EXPECT_TRUE(model.optimizer.attributes.Bool("nesterov"));
  EXPECT_EQ(model.optimizer.attributes.Float("weight_decay"), 5e-4);
  EXPECT_EQ(model.learning_rate.schedule, "one_cycle");
  EXPECT_EQ(model.learning_rate.base, 0.1);
}

TEST_P(SmallModel, ExampleIsWhatTheBuilderWrites) {
  const std::string path = kExamples + FileName(GetParam()) + ".pbtxt";
  const absl::StatusOr<std::string> file = ReadFile(path, kLargestProtoFile);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(*file, PrintModel(Make(GetParam()), ProtoFormat::kText))
      << "write it anew: bazel run //tools/models:build_model -- " << GetParam() << " --output=" << path;
}

TEST_P(SmallModel, ExampleStrategiesFit) {
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

INSTANTIATE_TEST_SUITE_P(Shipped, SmallModel, ::testing::Values("lenet5", "mlp", "mini-inception"),
                         [](const auto& info) { return FileName(info.param); });

TEST(MakeModel, RefusesWhatCannotBe) {
  EXPECT_EQ(MakeModel("lenet", {}, Ops()).status().message(), "model 'lenet' is unknown; did you mean 'lenet5'?");
  EXPECT_EQ(MakeModel("lenet5", {.image_size = 4}, Ops()).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(MakeModel("mlp", {.batch = 0}, Ops()).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace partita
