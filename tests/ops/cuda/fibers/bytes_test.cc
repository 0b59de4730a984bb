// What kernels load and store, by element: each is read once and written once. A GPU's caches are not looked at.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "graph/ir/op_definition.h"
#include "tests/ops/cuda/fibers/own_kernel.h"

namespace partita::fibers {
namespace {

FiberRun RunOf(const LocalNode& node, const RunOptions& options = {}) {
  absl::StatusOr<FiberRun> run = RunOnFibers(node, Stored(node, SuitableInputs(node, 3)), options);
  EXPECT_TRUE(run.ok()) << node.op->name << ": " << run.status();
  return run.ok() ? *std::move(run) : FiberRun{};
}

// Every tensor that is as large as the first.
void ExpectElementsOnce(const LocalNode& node, const Memory& memory) {
  const int64_t elements = node.inputs[0]->elements();
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!node.inputs[i].has_value() || node.inputs[i]->elements() != elements) continue;
    const Memory::Range& input = memory.range("input " + std::to_string(i));
    EXPECT_EQ(input.loaded, input.bytes) << node.op->name << " input " << i;
  }
  for (size_t o = 0; o < node.outputs.size(); ++o) {
    if (node.outputs[o].elements() != elements) continue;
    const Memory::Range& output = memory.range("output " + std::to_string(o));
    EXPECT_EQ(output.stored, output.bytes) << node.op->name << " output " << o;
    EXPECT_EQ(output.loaded, 0) << node.op->name << " output " << o;
  }
}

const TensorType kFlat{DType::kF32, {10007}};

TEST(BytesPerElement, OfElementwiseOpsAreTheirOperands) {
  for (const LocalNode& node : {WholeNode("relu", {}, {kFlat}), WholeNode("relu_grad", {}, {kFlat, kFlat}),
                                WholeNode("add", {}, {kFlat, kFlat}), WholeNode("add", {}, {kFlat, kFlat, kFlat}),
                                WholeNode("dropout", {{"rate", 0.4}}, {kFlat, std::nullopt})}) {
    for (const LocalNode& typed : {node, InBf16(node)}) {
      for (const bool off_by_one : {false, true}) {
        const FiberRun run = RunOf(typed, {.off_by_one = off_by_one});
        ExpectElementsOnce(typed, run.memory);
        int64_t bytes = 0;
        for (const auto& input : typed.inputs) bytes += input.has_value() ? input->bytes() : 0;
        EXPECT_EQ(run.memory.loaded(), bytes) << node.op->name;
        EXPECT_EQ(run.memory.stored(), typed.outputs[0].bytes()) << node.op->name;
      }
    }
  }
}

TEST(BytesPerElement, OfCastsAreBothTypes) {
  const LocalNode node = WholeNode("cast", {{"dtype", "bf16"}}, {kFlat});
  const FiberRun run = RunOf(node);
  EXPECT_EQ(run.memory.loaded(), 10007 * 4);
  EXPECT_EQ(run.memory.stored(), 10007 * 2);
}

// All members of a launch; what is a scalar is read by every thread.
TEST(BytesPerElement, OfUpdatesAreTheParametersGradientsAndSlots) {
  int updates = 0;
  for (const KernelCase& c : AllCases()) {
    if (c.node.op->together.empty()) continue;
    ++updates;
    const absl::StatusOr<FiberRun> run = RunOnFibers(c.node, c.inputs);
    ASSERT_TRUE(run.ok()) << c.name << ": " << run.status();
    for (size_t i = 0; i < c.node.inputs.size(); ++i) {
      if (!c.node.inputs[i].has_value() || c.node.inputs[i]->elements() < 2) continue;
      const Memory::Range& input = run->memory.range("input " + std::to_string(i));
      EXPECT_EQ(input.loaded, input.bytes) << c.name << " input " << i;
    }
    for (size_t o = 0; o < c.node.outputs.size(); ++o) {
      if (c.node.outputs[o].elements() < 2) continue;
      const Memory::Range& output = run->memory.range("output " + std::to_string(o));
      EXPECT_EQ(output.stored, output.bytes) << c.name << " output " << o;
    }
  }
  EXPECT_GE(updates, 50);
}

// Of the large nodes of a batch norm and its gradient, alone and in a residual network. What is made of a channel, once
// per block, is beside that: 0.29, 0.22, 0.22, 0.49, 0.49 and 0.34 bytes by element in f32 and bf16.
struct BatchNormNode {
  LocalNode node;
  double most_beside;  // bytes by element
};

std::vector<BatchNormNode> BatchNormNodes() {
  const TensorType x{DType::kF32, {8, 16, 16, 64}}, vector{DType::kF32, {64}}, stats{DType::kF64, {1, 2, 64}};
  const Attributes grouped{{"samples", int64_t{0}}};
  const Attributes attributes{{"samples", int64_t{0}}, {"epsilon", 1e-5}, {"relu", true}};
  return {{WholeNode("batch_norm_statistics", grouped, {x, vector}), 0.3},
          {WholeNode("batch_norm_normalize", attributes, {x, stats, vector, vector, vector}), 0.25},
          {WholeNode("batch_norm_normalize_add", attributes, {x, stats, vector, vector, vector, x}), 0.25},
          {WholeNode("batch_norm_gradient_sums", attributes, {x, x, stats, vector, vector, vector}), 0.5},
          {WholeNode("batch_norm_gradient_sums_relu", attributes, {x, x, stats, vector, vector, vector, x}), 0.5},
          {WholeNode("batch_norm_input_grad", attributes, {x, x, stats, vector, vector, vector, stats}), 0.35}};
}

TEST(BytesPerElement, OfBatchNormAreItsElements) {
  for (const auto& [node, most_beside] : BatchNormNodes()) {
    for (const LocalNode& typed : {node, InBf16(node)}) {
      const FiberRun run = RunOf(typed);
      ExpectElementsOnce(typed, run.memory);
      const int64_t elements = typed.inputs[0]->elements();
      int64_t beside = run.memory.loaded() + run.memory.stored();
      for (const auto& input : typed.inputs) beside -= input->elements() == elements ? input->bytes() : 0;
      for (const LocalTensor& output : typed.outputs) beside -= output.elements() == elements ? output.bytes() : 0;
      EXPECT_LE(static_cast<double>(beside) / static_cast<double>(elements), most_beside) << node.op->name;
    }
  }
}

}  // namespace
}  // namespace partita::fibers
