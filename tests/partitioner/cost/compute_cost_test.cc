// The roofline and measured times, to the exact microsecond.
#include "partitioner/cost/compute_cost.h"

#include <gtest/gtest.h>

#include "ops/registry.h"

namespace partita {
namespace {

DeviceKind Device() {
  DeviceKind kind{"d", BackendKind::kHost, 1 << 30, 2e9, {{DType::kF32, 1e9}, {DType::kBF16, 4e9}}};
  kind.launch_seconds = 3e-6;
  return kind;
}

TEST(ComputeCost, TheRoofline) {
  const DeviceKind device = Device();
  EXPECT_DOUBLE_EQ(RooflineSeconds({5000, 4000, DType::kF32}, device) * 1e6, 3 + 5) << "computing";
  EXPECT_DOUBLE_EQ(RooflineSeconds({5000, 20000, DType::kF32}, device) * 1e6, 3 + 10) << "reading and writing";
  EXPECT_DOUBLE_EQ(RooflineSeconds({8000, 0, DType::kBF16}, device) * 1e6, 3 + 2);
  EXPECT_DOUBLE_EQ(RooflineSeconds({5000, 0, DType::kF64}, device) * 1e6, 3 + 5) << "has no rate: as f32";
  EXPECT_DOUBLE_EQ(RooflineSeconds({5000, 4000, DType::kF32}, device, 2) * 1e6, 3 + 10) << "two ranks on its cores";
}

LocalTensor Tensor(DType dtype, const Shape& shape) { return {dtype, shape, {Shape(shape.size(), 0), shape}}; }

LocalNode Product() {
  LocalNode node;
  node.name = "dense";
  node.op = Ops().Find("matmul");
  node.attributes = {{"transpose_x", false}, {"transpose_w", false}};
  node.inputs = {Tensor(DType::kF32, {10, 20}), Tensor(DType::kF32, {20, 30})};
  node.outputs = {Tensor(DType::kF32, {10, 30})};
  return node;
}

TEST(ComputeCost, OfANode) {
  const KernelWork work = WorkOf(Product());
  EXPECT_EQ(work.flops, 2 * 10 * 20 * 30);
  EXPECT_EQ(work.bytes, 4 * (200 + 600 + 300));
  EXPECT_EQ(work.dtype, DType::kF32);
  EXPECT_DOUBLE_EQ(ComputeSeconds(Product(), {}, Device()) * 1e6, 3 + 12);
}

TEST(ComputeCost, MeasuredTimesComeFirst) {
  EXPECT_EQ(SignatureOf(Product()), "matmul f32[10,20] f32[20,30] -> f32[10,30] transpose_w=false transpose_x=false");
  LocalNode share = Product();  // of a node whose sizes are an attribute
  share.attributes.Set("shape", Shape{80, 30});
  EXPECT_EQ(SignatureOf(share), SignatureOf(Product()));
  EXPECT_EQ(ComputeSeconds(Product(), {{SignatureOf(Product()), 7e-6}}, Device()), 7e-6);
}

}  // namespace
}  // namespace partita
