// The least time of a node: by its flops at the peak of its precision, by its bytes at the bandwidth.
#include "ops/cuda/roofline.h"

#include <gtest/gtest.h>

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
