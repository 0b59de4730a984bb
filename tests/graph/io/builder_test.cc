// The C++ builder goes through the same checks and keeps the first error.
#include <gmock/gmock.h>

#include "ops/graph_builder.h"
#include "tests/graph/io/graph_text.h"

namespace partita {
namespace {

using ::testing::HasSubstr;

TEST(GraphBuilder, WritesTheGraphOfAFile) {
  GraphBuilder b(Ops());
  const ValueId x = b.Input("x", DType::kF32, {4, 3});
  const ValueId y = b.Input("y", DType::kI32, {4});
  const ValueId w = b.Parameter("w", {3, 2}, "he_normal");
  const ValueId z = b.Add("z", "matmul", {x, w});
  const ValueId loss = b.SoftmaxCrossEntropy("loss", z, y);
  const absl::StatusOr<Graph> graph = b.Build(loss, {b.Accuracy("accuracy", z, y)});
  ASSERT_TRUE(graph.ok()) << graph.status();
  Model model{"tiny", *graph, {.attributes = {{"momentum", 0.9}}}, {}};
  model.learning_rate.decay = 0;
  EXPECT_EQ(PrintModel(model, ProtoFormat::kText), PrintModel(*ParseText(TinyGraph()), ProtoFormat::kText));
}

TEST(GraphBuilder, SizesParametersByTheirInputs) {
  GraphBuilder b(Ops(), DType::kF64);
  ValueId x = b.Input("x", DType::kF64, {2, 9, 9, 4});
  x = b.Conv2d("conv", x, {.channels = 6, .kernel = 3, .stride = 2, .padding = 1, .groups = 2});
  EXPECT_EQ(b.type(x).shape, (Shape{2, 5, 5, 6}));
  x = b.BatchNorm("norm", x);
  x = b.Dense("dense", b.Flatten("flat", x), 3);
  const absl::StatusOr<Graph> graph = b.Build(b.SoftmaxCrossEntropy("loss", x, b.Input("y", DType::kI32, {2})));
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->type(graph->Find("conv/weights")), (TensorType{DType::kF64, {6, 3, 3, 2}}));
  EXPECT_EQ(graph->type(graph->Find("norm/running_variance")), (TensorType{DType::kF64, {6}}));
  EXPECT_EQ(graph->type(graph->Find("dense/matmul/weights")), (TensorType{DType::kF64, {150, 3}}));
  EXPECT_EQ(graph->states().size(), 7u);
}

TEST(GraphBuilder, KeepsTheFirstError) {
  GraphBuilder b(Ops());
  const ValueId x = b.Input("x", DType::kF32, {4, 3});
  EXPECT_EQ(b.Conv2d("conv", x, {.channels = 2}), kNoValue);
  EXPECT_EQ(b.Relu("x", x), kNoValue);
  const std::string refusal = Refusal(b.Build(x).status());
  EXPECT_THAT(refusal, HasSubstr("node 'conv'"));
  EXPECT_THAT(refusal, HasSubstr("[4,3]"));
}

TEST(GraphBuilder, RefusesWhatFilesMayNot) {
  GraphBuilder twice(Ops());
  twice.Relu("x", twice.Input("x", DType::kF32, {4, 3}));
  EXPECT_THAT(Refusal(twice.status()), HasSubstr("taken twice"));
  GraphBuilder missing(Ops());
  missing.Relu("r", kNoValue);
  EXPECT_THAT(Refusal(missing.status()), HasSubstr("node 'r'"));
  GraphBuilder without(Ops());
  without.Input("x", DType::kF32, {4, 3});
  EXPECT_THAT(Refusal(without.Build(kNoValue).status()), HasSubstr("no loss"));
  GraphBuilder shape(Ops());
  const ValueId x = shape.Input("x", DType::kF32, {4, 3});
  EXPECT_THAT(Refusal(shape.Build(x).status()), HasSubstr("scalar"));
}

}  // namespace
}  // namespace partita
