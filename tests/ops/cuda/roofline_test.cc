// The least time of a node: by its flops at the peak of its precision, by its bytes at the bandwidth.
#include "ops/cuda/roofline.h"

#include <gtest/gtest.h>

#include <optional>

#include "graph/ir/node_flops.h"
#include "graph/ir/op_definition.h"
#include "ops/cuda/described_gpu.h"
#include "tests/ops/host/kernel_case.h"

namespace partita {
namespace {

constexpr GpuPeaks kPeaks{.f64 = 12, .f32 = 24, .tf32 = 48, .bf16 = 96, .memory_bytes = 52};

LocalNode In(DType dtype, LocalNode node) {
  for (auto& input : node.inputs) input->dtype = dtype;
  for (LocalTensor& output : node.outputs) output.dtype = dtype;
  return node;
}

// 48 flops on 26 elements.
LocalNode Product(DType dtype) {
  return In(dtype, WholeNode("matmul", {}, {TensorType{DType::kF32, {2, 3}}, TensorType{DType::kF32, {3, 4}}}));
}

TEST(Roofline, AProductComputesInTheTypeOfItsOperands) {
  EXPECT_EQ(RooflineOf(Product(DType::kF64), kPeaks, true).compute_seconds, 4);
  EXPECT_EQ(RooflineOf(Product(DType::kF32), kPeaks, false).compute_seconds, 2);
  EXPECT_EQ(RooflineOf(Product(DType::kF32), kPeaks, true).compute_seconds, 1);
  EXPECT_EQ(RooflineOf(Product(DType::kBF16), kPeaks, false).compute_seconds, 0.5);
}

TEST(Roofline, EachOperandGoesByOnce) {
  EXPECT_EQ(RooflineOf(Product(DType::kF32), kPeaks, false).memory_seconds, 2);
  EXPECT_EQ(RooflineOf(Product(DType::kBF16), kPeaks, false).memory_seconds, 1);
}

TEST(Roofline, TheLargerBinds) {
  EXPECT_EQ((Roofline{3, 2}.seconds()), 3);
  EXPECT_TRUE((Roofline{3, 2}.compute_bound()));
  EXPECT_EQ((Roofline{1, 2}.seconds()), 2);
  EXPECT_FALSE((Roofline{1, 2}.compute_bound()));
}

// Of 2 samples, 5 places, 3 units and 2 outputs: w_h has 24 elements, w_projection 6.
TEST(Roofline, EveryPlaceReadsWeightsLargerThanTheCache) {
  const TensorType g{DType::kF32, {2, 5, 12}}, h{DType::kF32, {2, 5, 2}}, c{DType::kF32, {2, 5, 3}};
  const TensorType w{DType::kF32, {2, 12}}, projection{DType::kF32, {3, 2}}, h0{DType::kF32, {2, 2}};
  const std::optional<TensorType> none;
  const auto more = [](const LocalNode& node, double cache_bytes) {
    GpuPeaks peaks = kPeaks;
    peaks.memory_bytes = 4;  // an element a second
    const double once = RooflineOf(node, peaks, false).memory_seconds;
    peaks.cache_bytes = cache_bytes;
    return RooflineOf(node, peaks, false).memory_seconds - once;
  };
  const LocalNode zero = WholeNode("lstm_steps", {}, {g, w, projection, none, none, none});
  const LocalNode begins = WholeNode("lstm_steps", {}, {g, w, projection, h0, none, none});
  EXPECT_EQ(more(zero, 120), 0);  // both fit
  EXPECT_EQ(more(zero, 119), 3 * 24 + 4 * 6);
  EXPECT_EQ(more(begins, 119), 4 * 24 + 4 * 6);
  for (const std::optional<TensorType>& state : {none, std::optional(h0)}) {
    const LocalNode back = WholeNode("lstm_projected_steps_grad", {}, {h, g, c, h, w, state, none, none, projection});
    EXPECT_EQ(more(back, 120), 0);
    EXPECT_EQ(more(back, 119), (state ? 4 : 3) * 24 + 4 * 6);
  }
  const TensorType square{DType::kF32, {3, 12}};
  EXPECT_EQ(more(WholeNode("lstm_steps_grad", {}, {c, g, c, c, square, none, none, none}), 143), 3 * 36);
  EXPECT_EQ(more(WholeNode("lstm_steps", {}, {TensorType{DType::kF32, {2, 1, 12}}, square, none, none, none, none}), 1),
            0);
}

TEST(Roofline, TheLargestWeightsOfTheModelsAreReadAtEveryPlace) {
  const TensorType g{DType::kBF16, {128, 20, 32768}}, w{DType::kBF16, {1024, 32768}}, p{DType::kBF16, {8192, 1024}};
  const LocalNode big = WholeNode("lstm_steps", {}, {g, w, p, std::nullopt, std::nullopt, std::nullopt});
  const double weights = 18 * 67'108'864.0 + 19 * 16'777'216.0;
  EXPECT_DOUBLE_EQ(RooflineOf(big, H200().peaks, false).memory_seconds, (BytesOf(big) + weights) / 4.8e12);
}

// Tensor cores are for products alone.
TEST(Roofline, WhatIsNoProductComputesInF32) {
  const LocalNode add = WholeNode("add", {}, {TensorType{DType::kF32, {2, 3}}, TensorType{DType::kF32, {2, 3}}});
  const double seconds = RooflineOf(add, kPeaks, false).compute_seconds;
  EXPECT_EQ(RooflineOf(add, kPeaks, true).compute_seconds, seconds);
  EXPECT_EQ(RooflineOf(In(DType::kBF16, add), kPeaks, true).compute_seconds, seconds);
}

TEST(Roofline, AGpuThatIsNotDescribedHasNoLimits) {
  EXPECT_EQ(FindDescription("NVIDIA H200"), &H200());
  EXPECT_EQ(FindDescription("NVIDIA GeForce 256"), nullptr);
}

}  // namespace
}  // namespace partita
