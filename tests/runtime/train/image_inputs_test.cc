// Which inputs of a graph a data set of images can give, which data sets fit, and which inputs their fields fill.
#include "runtime/train/image_inputs.h"

#include <gmock/gmock.h>

#include "ops/graph_builder.h"
#include "ops/registry.h"
#include "runtime/train/batch_feed.h"
#include "tests/runtime/train/lenet_fixture.h"
#include "tools/models/models.h"

namespace partita {
namespace {

using ::testing::HasSubstr;

std::string Refusal(const absl::Status& status) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

// A classifier of images [4, 6] into 3 classes with one more input.
Graph WithInput(const std::string& name, DType dtype, const Shape& shape) {
  GraphBuilder b(Ops());
  const ValueId images = b.Input("images", DType::kF32, {4, 6});
  const ValueId labels = b.Input("labels", DType::kI32, {4});
  b.Input(name, dtype, shape);
  return b.Build(b.SoftmaxCrossEntropy("loss", b.MatMul("dense", images, 3), labels, 0), {}).value();
}

TEST(FindImageInputs, KnowsTheShippedModels) {
  for (const std::string& name : ModelNames()) {
    const Model model = MakeModel(name, {.batch = 6, .classes = 7}, Ops()).value();
    const ImageInputs inputs = FindImageInputs(model.graph).value();
    EXPECT_EQ(inputs.images, "images");
    EXPECT_EQ(inputs.labels, "labels");
    EXPECT_EQ(inputs.batch(), 6);
    EXPECT_EQ(inputs.classes, 7);
  }
}

TEST(FindImageInputs, NamesWhatNoDataSetGives) {
  EXPECT_THAT(Refusal(FindImageInputs(WithInput("mask", DType::kF32, {4})).status()), HasSubstr("'mask' f32[4]"));
  EXPECT_THAT(Refusal(FindImageInputs(WithInput("more", DType::kF32, {4, 6})).status()),
              HasSubstr("'images' takes the images already"));
}

TEST(CheckDataset, ComparesShapesAndClasses) {
  const Model model = MakeModel("lenet5", {.batch = 2, .image_size = 12}, Ops()).value();
  const ImageInputs inputs = FindImageInputs(model.graph).value();
  EXPECT_TRUE(CheckDataset(inputs, MakeMockDataset(4, {12, 12, 1}, 10, 1).value(), "folder").ok());
  EXPECT_THAT(Refusal(CheckDataset(inputs, MakeMockDataset(4, {12, 11, 1}, 10, 1).value(), "folder")),
              HasSubstr("folder: the images are 12 x 11 x 1"));
  EXPECT_THAT(Refusal(CheckDataset(inputs, MakeMockDataset(4, {12, 12, 1}, 11, 1).value(), "folder")),
              HasSubstr("11 classes"));
}

TEST(BatchFeed, AnInputThatNoFieldFillsIsNamed) {
  Fixture fixture = Make(8, 1, 1);
  ImageBatchOptions options;
  options.batch_rows = 8;
  options.normalization = NoNormalization(1);
  const auto refusal = [&](ImageFields fields, ImageShape shape) {
    options.fields = std::move(fields);
    auto set = std::make_shared<ImageDataset>(MakeMockDataset(16, shape, 10, 1).value());
    return std::string(BatchFeed::Create(*fixture.session, kTrainEntry, ImageBatches::Create(set, options).value())
                           .status()
                           .message());
  };
  EXPECT_THAT(refusal({"imagse"}, {12, 12, 1}), HasSubstr("input 'images' f32[8,12,12,1]: the data has no such"
                                                          " field; did you mean 'imagse'?"));
  EXPECT_THAT(refusal({"images", "labels", "weights", DType::kF64}, {12, 12, 1}),
              HasSubstr("input 'images' is f32[8,12,12,1]; the data's field of that name has f64[12,12,1]"));
  EXPECT_THAT(refusal({}, {12, 11, 1}), HasSubstr("has f32[12,11,1] in each row"));
  EXPECT_EQ(refusal({}, {12, 12, 1}), "");
}

}  // namespace
}  // namespace partita
