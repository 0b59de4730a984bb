// The shipped models, exported as ONNX and read back, predict what they predict here, for every batch.
#include "tools/models/models.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "graph/read/predicted_value.h"
#include "importer/onnx/model.h"
#include "ops/registry.h"
#include "tests/exporter/onnx/round_trip.h"
#include "tests/testing/assert_ok.h"
#include "tools/models/transformers/bert.h"
#include "tools/models/transformers/gpt2.h"
#include "tools/models/transformers/swin.h"
#include "tools/models/transformers/t5.h"
#include "tools/models/transformers/vit.h"
#include "tools/models/unet.h"

namespace partita {
namespace {

constexpr int64_t kBatch = 4;

struct Case {
  std::string name;
  std::function<absl::StatusOr<Model>()> make;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

// As narrow as it may be.
Case OfImages(const std::string& name, int64_t image_size, ModelOptions options = {}) {
  options.batch = kBatch;
  options.image_size = image_size;
  options.channel_limit = 8;
  options.dtype = DType::kF64;
  options.classes = 5;
  return {name, [=] { return MakeModel(name, options, Ops()); }};
}

BertOptions Bert(BertHead head) {
  return {.batch = kBatch,
          .length = 6,
          .positions = 8,
          .words = 11,
          .width = 8,
          .heads = 2,
          .layers = 2,
          .head = head,
          .classes = 3,
          .dtype = DType::kF64};
}

Model MadeOf(const Case& c) {
  absl::StatusOr<Model> model = c.make();
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

std::string ValueOf(const Model& model) { return model.graph.value(PredictedValueOf(model.graph)).name; }

class ExportedModels : public ::testing::TestWithParam<Case> {};

TEST_P(ExportedModels, PredictTheSameWhenReadBack) {
  const Model model = MadeOf(GetParam());
  ASSERT_OK_AND_ASSIGN(const RoundTrip trip, ExportAndReadBack(model, ValueOf(model), 2, {kBatch, 6}));
  EXPECT_TRUE(trip.any_batch);
  EXPECT_LT(trip.difference, 1e-6) << "attributes such as epsilon are f32 in ONNX";
}

INSTANTIATE_TEST_SUITE_P(
    Models, ExportedModels,
    ::testing::Values(
        OfImages("lenet5", 16), OfImages("mlp", 12), OfImages("mini-inception", 8), OfImages("resnet-50", 32),
        OfImages("resnet-50", 32, {.statistics_samples = 2}), OfImages("mobilenet-v3-large", 32),
        OfImages("inception-v3", 75), OfImages("efficientnet-b0", 32),
        Case{"vit",
             [] {
               return MakeVit({.batch = kBatch,
                               .image_size = 8,
                               .patch = 4,
                               .classes = 5,
                               .width = 8,
                               .heads = 2,
                               .layers = 2,
                               .dtype = DType::kF64},
                              Ops());
             }},
        Case{"swin",
             [] {
               return MakeSwin({.batch = kBatch,
                                .image_size = 16,
                                .patch = 2,
                                .window = 2,
                                .classes = 5,
                                .width = 4,
                                .stages = {{2, 2}, {2, 4}},
                                .dtype = DType::kF64},
                               Ops());
             }},
        Case{"unet",
             [] {
               return MakeUnet(
                   {.batch = kBatch, .image_size = 8, .classes = 3, .channels = 4, .halvings = 2, .dtype = DType::kF64},
                   Ops());
             }},
        Case{"t5",
             [] {
               return MakeT5({.batch = kBatch,
                              .source_places = 6,
                              .target_places = 5,
                              .words = 11,
                              .width = 8,
                              .heads = 2,
                              .layers = 2,
                              .dtype = DType::kF64},
                             Ops());
             }},
        Case{"bert of words", [] { return MakeBert(Bert(BertHead::kWords), Ops()); }},
        Case{"bert of classes", [] { return MakeBert(Bert(BertHead::kClassifier), Ops()); }},
        Case{"gpt2", [] {
               return MakeGpt2({.batch = kBatch,
                                .length = 6,
                                .positions = 8,
                                .words = 11,
                                .width = 8,
                                .heads = 2,
                                .layers = 2,
                                .dtype = DType::kF64},
                               Ops());
             }}));

std::vector<std::string> OpsOf(const onnx::OnnxModel& model) {
  std::vector<std::string> ops;
  for (const onnx::OnnxNode& node : model.graph.nodes) ops.push_back(node.op);
  return ops;
}

TEST(ExportedLeNet5, HasTheNodesNamesAndSizesOfItsGraph) {
  const Model model = MadeOf(OfImages("lenet5", 16));
  ASSERT_OK_AND_ASSIGN(const RoundTrip trip, ExportAndReadBack(model, ValueOf(model), 0, {kBatch}));
  ASSERT_OK_AND_ASSIGN(const onnx::OnnxModel read, onnx::ReadOnnxModel(trip.path));
  EXPECT_EQ(read.opset, 18);
  EXPECT_EQ(OpsOf(read), (std::vector<std::string>{"Conv", "Relu", "MaxPool", "Conv", "Relu", "MaxPool", "Transpose",
                                                   "Reshape", "Gemm", "Relu", "Gemm", "Relu", "Gemm"}));
  ASSERT_EQ(read.graph.inputs.size(), 1u);
  EXPECT_EQ(read.graph.inputs[0].name, "images");
  EXPECT_EQ(read.graph.inputs[0].type, onnx::kDouble);
  const std::vector<onnx::Dimension>& images = read.graph.inputs[0].dimensions;
  ASSERT_EQ(images.size(), 4u);
  EXPECT_EQ(images[0].parameter, "batch");
  EXPECT_EQ(images[1].value, 1) << "channels come second";
  EXPECT_EQ(images[2].value, 16);
  ASSERT_EQ(read.graph.outputs.size(), 1u);
  EXPECT_EQ(read.graph.outputs[0].name, "classifier/bias");
  EXPECT_EQ(read.graph.outputs[0].dimensions[0].parameter, "batch");
  EXPECT_EQ(read.graph.outputs[0].dimensions[1].value, 5);
  std::map<std::string, IntList> weights;
  for (const onnx::Tensor& tensor : read.graph.initializers) weights[tensor.name] = tensor.dims;
  EXPECT_EQ(weights["conv2/conv/weights"], (IntList{8, 6, 5, 5})) << "[out,in,h,w]";
  EXPECT_EQ(weights["dense1/matmul/weights"], (IntList{32, 8}));
  EXPECT_EQ(weights.size(), 11u) << "five layers and the sizes of a reshape";
}

// A batch norm has its running statistics; what only trains is not there.
TEST(ExportedMobileNet, HasNoNodesOfTraining) {
  const Model model = MadeOf(OfImages("mobilenet-v3-large", 32));
  ASSERT_OK_AND_ASSIGN(const RoundTrip trip, ExportAndReadBack(model, ValueOf(model), 0, {kBatch}));
  ASSERT_OK_AND_ASSIGN(const onnx::OnnxModel read, onnx::ReadOnnxModel(trip.path));
  std::set<std::string> ops;
  size_t transposes = 0;
  for (const onnx::OnnxNode& node : read.graph.nodes) {
    ops.insert(node.op);
    transposes += node.op == "Transpose" ? 1 : 0;
    if (node.op == "BatchNormalization") {
      EXPECT_EQ(node.inputs.size(), 5u);
    }
  }
  EXPECT_FALSE(ops.contains("Dropout"));
  EXPECT_TRUE(ops.contains("BatchNormalization"));
  EXPECT_EQ(transposes, 0u) << "images lie channels first from the input to the last pool";
  for (const onnx::ValueInfo& input : read.graph.inputs) EXPECT_EQ(input.name, "images") << "labels only train";
}

}  // namespace
}  // namespace partita
