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

// Of a table of 1000 rows 7 are read and written, and of what an update keeps beside them as many.
TEST(ComputeCost, OfRowsThatIdsChoose) {
  const LocalTensor table = Tensor(DType::kF32, {1000, 8}), ids = Tensor(DType::kI32, {7});
  const LocalTensor rows = Tensor(DType::kF32, {7, 8}), scalar = Tensor(DType::kF32, {});
  LocalNode read;
  read.op = Ops().Find("embedding");
  read.inputs = {table, ids};
  read.outputs = {rows};
  EXPECT_EQ(WorkOf(read).bytes, 4 * (7 * 8 + 7 + 7 * 8));
  LocalNode update;
  update.op = Ops().Find("adagrad_rows");
  update.inputs = {table, ids, rows, table, scalar, std::nullopt, std::nullopt};
  update.outputs = {table, table};
  EXPECT_EQ(WorkOf(update).bytes, 4 * (5 * 7 * 8 + 7 + 1));
  update.inputs[0] = update.inputs[3] = update.outputs[0] = update.outputs[1] = Tensor(DType::kF32, {5, 8});
  EXPECT_EQ(WorkOf(update).bytes, 4 * (4 * 5 * 8 + 7 * 8 + 7 + 1)) << "no more than there are";
}

TEST(ComputeCost, MeasuredTimesComeFirst) {
  EXPECT_EQ(SignatureOf(Product()), "matmul f32[10,20] f32[20,30] -> f32[10,30] transpose_w=false transpose_x=false");
  LocalNode share = Product();  // of a node whose sizes are an attribute
  share.attributes.Set("shape", Shape{80, 30});
  EXPECT_EQ(SignatureOf(share), SignatureOf(Product()));
  EXPECT_EQ(ComputeSeconds(Product(), {{SignatureOf(Product()), 7e-6}}, Device()), 7e-6);
}

TEST(ComputeCost, OthersTakeAsManyTimesTheRooflineAsTheirOp) {
  DeviceKind device = Device();
  device.op_times = {{"matmul", 1.5}, {"relu", 4}};
  EXPECT_DOUBLE_EQ(ComputeSeconds(Product(), {}, device) * 1e6, 1.5 * (3 + 12));
  EXPECT_DOUBLE_EQ(ComputeSeconds(Product(), {}, device, 2) * 1e6, 1.5 * (3 + 24));
  EXPECT_EQ(ComputeSeconds(Product(), {{SignatureOf(Product()), 7e-6}}, device), 7e-6);
  LocalNode softmax = Product();
  softmax.op = Ops().Find("softmax");
  EXPECT_EQ(ComputeSeconds(softmax, {}, device), ComputeSeconds(softmax, {}, Device())) << "of it nothing is known";
}

}  // namespace
}  // namespace partita
