// What mixed precision makes of a forward graph, text to text, and what follows from it backward.
#include "graph/passes/mix_precision.h"

#include <gtest/gtest.h>

#include "graph/make_program.h"
#include "graph/text/text.h"
#include "ops/registry.h"
#include "tests/graph/parse.h"
#include "tests/graph/two_layers.h"

namespace partita {
namespace {

std::string Mixed(const std::string& text) {
  const absl::StatusOr<Graph> mixed = MixPrecision(Parse(text), Ops());
  EXPECT_TRUE(mixed.ok()) << mixed.status();
  return mixed.ok() ? ToText(*mixed) : "";
}

TEST(MixPrecision, ProductsAreNarrowAndTheLossIsWide) {
  EXPECT_EQ(Mixed(R"(state %w
%x = input() f32[6,8]
%t = input() i32[6]
%w = parameter() initializer=he_normal f32[8,10]
%y = matmul(%x, %w) f32[6,10]
%r = relu(%y) f32[6,10]
%l = softmax_cross_entropy(%r, %t, _) f32[]
%a = accuracy(%r, %t, _) f32[]
metric %a
loss %l
)"),
            R"(state %w
%x = input() f32[6,8]
%t = input() i32[6]
%w = parameter() initializer=he_normal f32[8,10]
%x@bf16 = cast(%x) bf16[6,8]
%w@bf16 = cast(%w) bf16[8,10]
%y = matmul(%x@bf16, %w@bf16) bf16[6,10]
%r = relu(%y) bf16[6,10]
%r@f32 = cast(%r) f32[6,10]
%l = softmax_cross_entropy(%r@f32, %t, _) f32[]
%a = accuracy(%r@f32, %t, _) f32[]
loss %l
metric %a
)");
}

// Statistics, scales and biases stay wide, and so does what is read by wide ops alone.
TEST(MixPrecision, BatchNormHasNarrowElementsAndWideStatistics) {
  EXPECT_EQ(Mixed(R"(state %mean = %n@running_mean
state %variance = %n@running_variance
state %g
state %w
%x = input() f32[6,5,5,4]
%p = max_pool(%x) kernel=[2,2] f32[6,4,4,4]
%w = parameter() initializer=he_normal f32[3,1,1,4]
%y = conv2d(%p, %w) f32[6,4,4,3]
%mean = state() initializer=constant f32[3]
%variance = state() initializer=constant f32[3]
%g = parameter() initializer=constant f32[3]
%n@statistics = batch_norm_statistics(%y, %mean) f64[1,2,3]
%n = batch_norm_normalize(%y, %n@statistics, %mean, %g, %g) f32[6,4,4,3]
%n@running_mean, %n@running_variance = batch_norm_running(%n@statistics, %mean, %variance, _) count=96 f32[3], f32[3]
%b = bias(%n, %g) f32[6,4,4,3]
metric %b
)"),
            R"(state %mean = %n@running_mean
state %variance = %n@running_variance
state %g
state %w
%x = input() f32[6,5,5,4]
%p = max_pool(%x) kernel=[2,2] f32[6,4,4,4]
%w = parameter() initializer=he_normal f32[3,1,1,4]
%p@bf16 = cast(%p) bf16[6,4,4,4]
%w@bf16 = cast(%w) bf16[3,1,1,4]
%y = conv2d(%p@bf16, %w@bf16) bf16[6,4,4,3]
%mean = state() initializer=constant f32[3]
%variance = state() initializer=constant f32[3]
%g = parameter() initializer=constant f32[3]
%n@statistics = batch_norm_statistics(%y, %mean) f64[1,2,3]
%n = batch_norm_normalize(%y, %n@statistics, %mean, %g, %g) bf16[6,4,4,3]
%n@running_mean, %n@running_variance = batch_norm_running(%n@statistics, %mean, %variance, _) count=96 f32[3], f32[3]
%b = bias(%n, %g) bf16[6,4,4,3]
%b@f32 = cast(%b) f32[6,4,4,3]
metric %b@f32
)");
}

// A cast lies as what it casts; moves carry what they are given: activations narrow, weights wide.
TEST(MixPrecision, CastsLieAsTheirInputsBehindMoves) {
  EXPECT_EQ(Mixed(R"(mesh data:2
%x = input() f32[4,6] {data:S0}
%w = parameter() initializer=he_normal f32[6,5] {data:S0}
%w@all_gather = all_gather(%w) axes=data f32[6,5] {data:R}
%y = matmul(%x, %w@all_gather) f32[4,5] {data:S0}
%y@all_gather = all_gather(%y) axes=data f32[4,5] {data:R}
%z = log_softmax(%y@all_gather) f32[4,5] {data:R}
metric %z
)"),
            R"(mesh data:2
%x = input() f32[4,6] {data:S0}
%w = parameter() initializer=he_normal f32[6,5] {data:S0}
%w@all_gather = all_gather(%w) axes=data f32[6,5] {data:R}
%x@bf16 = cast(%x) bf16[4,6] {data:S0}
%w@all_gather@bf16 = cast(%w@all_gather) bf16[6,5] {data:R}
%y = matmul(%x@bf16, %w@all_gather@bf16) bf16[4,5] {data:S0}
%y@all_gather = all_gather(%y) axes=data bf16[4,5] {data:R}
%y@all_gather@f32 = cast(%y@all_gather) f32[4,5] {data:R}
%z = log_softmax(%y@all_gather@f32) f32[4,5] {data:R}
metric %z
)");
}

// Where one summand is narrow the sum is; sums of wide ones, and a user's own casts, stay what they are.
TEST(MixPrecision, WhatFollowsIsNarrowIfOneInputIs) {
  EXPECT_EQ(Mixed(R"(%x = input() f32[4,4]
%u = relu(%x) f32[4,4]
%y = matmul(%x, %u) f32[4,4]
%s = add(%u, %y) f32[4,4]
%c = cast(%s) f32[4,4]
%d = mul(%c, %u) f32[4,4]
metric %d
)"),
            R"(%x = input() f32[4,4]
%u = relu(%x) f32[4,4]
%x@bf16 = cast(%x) bf16[4,4]
%u@bf16 = cast(%u) bf16[4,4]
%y = matmul(%x@bf16, %u@bf16) bf16[4,4]
%s = add(%u@bf16, %y) bf16[4,4]
%c = cast(%s) f32[4,4]
%d = mul(%c, %u) f32[4,4]
metric %d
)");
}

Strategy SplitSamples() {
  Strategy strategy;
  strategy.mesh.axes = {{"data", 2}};
  strategy.ops = {{"*", {{"data", {"samples", 0, {}}}}, {}}};
  return strategy;
}

absl::StatusOr<Program> MakeMixed(const Strategy& strategy) {
  return MakeProgram(TwoLayers(), strategy, Ops(), {.mix_precision = true, .bucket_bytes = 0, .verify_passes = true});
}

// The gradient of a weight is made narrow on each rank, cast there, and summed over the ranks in f32.
TEST(MixPrecision, GradientsAreSummedInF32) {
  const absl::StatusOr<Program> program = MakeMixed(SplitSamples());
  ASSERT_TRUE(program.ok()) << program.status();
  const Graph& graph = program->graph(kTrainEntry);
  int gradients = 0;
  for (const Node& node : graph.nodes()) {
    if (node.op->name != "all_reduce" || node.phase != Phase::kBackward) continue;
    ++gradients;
    const Node& producer = graph.node(graph.value(node.inputs[0]).producer);
    EXPECT_EQ(producer.op->name, "cast");
    EXPECT_EQ(graph.type(node.inputs[0]).dtype, DType::kF32);
    EXPECT_EQ(graph.type(producer.inputs[0]).dtype, DType::kBF16);
    EXPECT_TRUE(graph.layout(producer.inputs[0])[0].partial());
  }
  EXPECT_EQ(gradients, 2);
  for (const State& state : graph.states()) EXPECT_NE(graph.type(state.value).dtype, DType::kBF16);
}

// Of micro-batches too: their terms are cast one by one and added in f32.
TEST(MixPrecision, TermsOfMicroBatchesAreAddedInF32) {
  Strategy strategy = SplitSamples();
  strategy.pipeline.micro_batches = 2;
  const absl::StatusOr<Program> program = MakeMixed(strategy);
  ASSERT_TRUE(program.ok()) << program.status();
  const Graph& graph = program->graph(kTrainEntry);
  int sums = 0, copies = 0;
  for (const Node& node : graph.nodes()) {
    const Value& output = graph.value(node.outputs[0]);
    copies += node.op->name == "cast" && output.name.starts_with("w@bf16");
    if (node.op->name != "add" || !output.name.starts_with("w@")) continue;
    ++sums;
    EXPECT_EQ(output.type.dtype, DType::kF32) << output.name;
  }
  EXPECT_EQ(sums, 1);
  EXPECT_EQ(copies, 1) << "a weight is cast once for all micro-batches";
}

// What moves is what a run in f32 moves of gradients, and half of it of activations; the loss is always 4 bytes.
TEST(MixPrecision, MovesActivationsInHalfTheBytes) {
  Strategy columns;
  columns.mesh.axes = {{"model", 2}};
  columns.ops = {{"h", {{"model", {"output_channels", 0, {}}}}, {}},
                 {"z", {{"model", {"output_channels", 0, {}}}}, {}}};
  for (const auto& [strategy, share] : {std::pair{SplitSamples(), 1.0}, std::pair{columns, 0.5}}) {
    const absl::StatusOr<Program> mixed = MakeMixed(strategy);
    const absl::StatusOr<Program> plain =
        MakeProgram(TwoLayers(), strategy, Ops(), {.bucket_bytes = 0, .verify_passes = true});
    ASSERT_TRUE(mixed.ok() && plain.ok()) << mixed.status() << plain.status();
    int64_t narrow = 0, wide = 0;
    for (const MoveBytes& bytes : PredictBytes(*mixed, mixed->graph(kTrainEntry))) narrow += bytes.payload;
    for (const MoveBytes& bytes : PredictBytes(*plain, plain->graph(kTrainEntry))) wide += bytes.payload;
    EXPECT_EQ(static_cast<double>(narrow - 4), share * static_cast<double>(wide - 4));
  }
}

}  // namespace
}  // namespace partita
