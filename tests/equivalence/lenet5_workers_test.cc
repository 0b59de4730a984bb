// LeNet-5 on the four workers of Hewett and Grady's demonstration (2006.03108; the shipped lenet5_workers.pbtxt), step
// by step the serial one on Fashion-MNIST: forward, gradients and 100 steps of the optimizer, in f64.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "graph/proto_io/proto_io.h"
#include "graph/read/model_entries.h"
#include "ops/registry.h"
#include "runtime/base/files.h"
#include "runtime/base/status.h"
#include "runtime/data/image_batches.h"
#include "runtime/train/batch_feed.h"
#include "tests/equivalence/side_by_side.h"

namespace partita {
namespace {

constexpr int64_t kBatch = 8;
constexpr int kSteps = 100;
constexpr char kExamples[] = "tools/models/examples/";

// As in their example a sigmoid stands before the loss.
absl::StatusOr<Model> LoadLeNet5() {
  const std::string path = fmt::format("{}lenet5.pbtxt", kExamples);
  ASSIGN_OR_RETURN(std::string text, ReadFile(path, 1 << 20));
  for (const std::string op : {"softmax_cross_entropy", "accuracy"}) {
    const std::string before = fmt::format("op: \"{}\" inputs: \"classifier/bias\"", op);
    const size_t at = text.find(before);
    if (at == std::string::npos) return absl::NotFoundError(before);
    text.replace(at, before.size(), fmt::format("op: \"{}\" inputs: \"sigmoid\"", op));
  }
  text += "nodes { name: \"sigmoid\" op: \"sigmoid\" inputs: \"classifier/bias\" }\n";
  ASSIGN_OR_RETURN(Model model, ParseModel(text, ProtoFormat::kText, path, Ops()));
  ASSIGN_OR_RETURN(model, WithBatch(model, kBatch, Ops()));
  model.learning_rate = LearningRate{};
  model.learning_rate.base = 5e-3;
  return model;
}

// Labelled clothes; random pixels where the package is not installed, so that the plan is tested at least.
absl::StatusOr<std::shared_ptr<ImageBatches>> OpenBatches() {
  ImageDataset images;
  if (std::filesystem::exists(kFashionMnistFolder)) {
    ASSIGN_OR_RETURN(ImageSets sets, LoadMnistFolder(kFashionMnistFolder, kFashionMnistClasses));
    images = std::move(sets.train).value();
  } else {
    ASSIGN_OR_RETURN(images, MakeMockDataset(1000, {28, 28, 1}, kFashionMnistClasses, 1));
  }
  ImageBatchOptions options;
  options.batch_rows = kBatch;
  options.seed = 1;
  options.normalization = MeasureNormalization(images);
  options.fields.pixels = options.fields.floating = DType::kF64;
  return ImageBatches::Create(std::make_shared<const ImageDataset>(std::move(images)), options);
}

NamedTensors BatchOf(const ImageBatches& batches, int step) {
  absl::StatusOr<std::vector<HostTensor>> fields = WholeBatch(batches, step);
  EXPECT_TRUE(fields.ok()) << fields.status();
  return {std::move(fields->at(0)), std::move(fields->at(1))};
}

class LeNet5Workers : public testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<Model> model = LoadLeNet5();
    ASSERT_TRUE(model.ok()) << model.status();
    model_ = *std::move(model);
    absl::StatusOr<Strategy> strategy = LoadStrategy(fmt::format("{}lenet5_workers.pbtxt", kExamples));
    ASSERT_TRUE(strategy.ok()) << strategy.status();
    strategy_ = *std::move(strategy);
  }
  Model model_;
  Strategy strategy_;
};

TEST_F(LeNet5Workers, GoTheWayOfOne) {
  const absl::StatusOr<std::shared_ptr<ImageBatches>> batches = OpenBatches();
  ASSERT_TRUE(batches.ok()) << batches.status();
  const absl::Status status =
      RunSideBySide(model_, strategy_, kSteps, [&](int step) { return BatchOf(**batches, step); });
  EXPECT_TRUE(status.ok()) << status;
}

// Rows and columns of worker `rank` of a value, as its layout says.
Shape BlockOf(const Graph& graph, const std::string& value, int rank) {
  const ValueId id = graph.Find(value);
  EXPECT_NE(id, kNoValue) << value;
  const std::optional<Box> box = LocalBox(graph.layout(id), graph.type(id).shape, graph.mesh(id), rank);
  return box ? box->size : Shape();
}

// algorithms: C5 60 x 200, F6 42 x 60, output 5 x 42 on each worker (stored [in,out]); biases on two workers, then two.
TEST_F(LeNet5Workers, HoldTheBlocksOfThePaper) {
  const absl::StatusOr<Program> program = StepOf(model_, strategy_);
  ASSERT_TRUE(program.ok()) << program.status();
  const Graph& graph = program->graph(kTrainEntry);
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(BlockOf(graph, "conv1/conv", rank), (Shape{kBatch, 14, 14, 6})) << rank;
    EXPECT_EQ(BlockOf(graph, "dense1/matmul/weights", rank), (Shape{200, 60})) << rank;
    EXPECT_EQ(BlockOf(graph, "dense2/matmul/weights", rank), (Shape{60, 42})) << rank;
    EXPECT_EQ(BlockOf(graph, "classifier/matmul/weights", rank), (Shape{42, 5})) << rank;
    EXPECT_EQ(BlockOf(graph, "dense1/bias/values", rank), rank < 2 ? Shape() : (Shape{60})) << rank;
    EXPECT_EQ(BlockOf(graph, "dense2/bias/values", rank), rank < 2 ? (Shape{42}) : Shape()) << rank;
    EXPECT_EQ(BlockOf(graph, "classifier/bias", rank), rank == 0 ? (Shape{kBatch, 10}) : Shape()) << rank;
  }
}

}  // namespace
}  // namespace partita
