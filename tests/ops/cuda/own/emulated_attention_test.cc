// Scaled dot-product attention of ops/cuda without a GPU: lengths that cannot be, and blocks of queries and heads.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>

#include "graph/ir/op_definition.h"
#include "ops/cuda/kernel_table.h"
#include "tests/ops/cuda/own/emulated.h"
#include "tests/ops/host/kernel_case.h"

namespace partita {
namespace {

LocalNode Forward(int64_t groups, bool causal, std::optional<TensorType> bias = std::nullopt) {
  const auto f32 = [](Shape shape) { return TensorType{DType::kF32, std::move(shape)}; };
  return WholeNode("scaled_dot_product_attention_forward", {{"causal", causal}},
                   {f32({4, 5, 4, 3}), f32({4, 6, groups, 3}), f32({4, 6, groups, 2}), TensorType{DType::kI32, {4}},
                    std::move(bias), std::nullopt});
}

// It cannot be refused on a device: it leaves the host's error as a word, and what its sample gets is not a number.
TEST(EmulatedAttention, ALengthThatCannotBeLeavesAWord) {
  LocalNode node = Forward(2, false);
  for (const size_t i : {0, 1, 2, 3}) Narrow(*node.inputs[i], 0, 2, 4);
  for (LocalTensor& output : node.outputs) Narrow(output, 0, 2, 4);
  for (const int length : {-1, 7, 6}) {
    std::vector<Values> inputs = SuitableInputs(node, 3);
    inputs[3] = {3, static_cast<double>(length)};
    NoForeignKernels libraries("no library here");
    const PreparedCudaKernel kernel = *CudaKernelEntries(node.op->name).back().prepare(node, libraries);
    uint64_t word = 0;
    const auto run = [&](const KernelArguments& arguments) -> absl::Status {
      KernelArguments asked = arguments;
      asked.fault = &word;
      CountingQueue queue;
      return (*kernel.bind(asked))(&queue);
    };
    const auto y = RunOnBuffers(node, inputs, {}, 0, node.op->name, run);
    ASSERT_TRUE(y.ok()) << y.status();
    for (const Values& each : *y) {
      EXPECT_FALSE(std::isnan(each.front())) << length;
      EXPECT_EQ(std::isnan(each.back()), length != 6) << length;
    }
    EXPECT_EQ(word != 0, length != 6) << length;
    if (word == 0) continue;
    EXPECT_EQ(kernel.explain(word).message(),
              "sample 3 of the batch has length " + std::to_string(length) + ", allowed are 0 to 6");
  }
}

// A query all of whose keys a bias hides gives 0, and a score that is not a number is not hidden.
TEST(EmulatedAttention, ABiasHidesKeys) {
  const LocalNode node = Forward(4, false, TensorType{DType::kF32, {5, 1}});
  std::vector<Values> inputs = SuitableInputs(node, 3);
  inputs[3] = Values(4, 6);
  inputs[4] = {0, -std::numeric_limits<double>::infinity(), 1, std::numeric_limits<double>::quiet_NaN(), 2};
  const Values y = Emulated(node, inputs)[0];
  for (size_t i = 0; i < y.size(); ++i) {
    const size_t query = i / 8 % 5;
    EXPECT_EQ(y[i] == 0, query == 1) << i;
    EXPECT_EQ(std::isnan(y[i]), query == 3) << i;
  }
}

// A part of the queries sees what they see of the whole, and a part of the heads reads the group that all share.
TEST(EmulatedAttention, PartsAreThoseOfTheWhole) {
  const LocalNode whole = Forward(1, true, TensorType{DType::kF32, {4, 5, 6}});
  const std::vector<Values> inputs = SuitableInputs(whole, 3), y = Emulated(whole, inputs);
  for (const int dimension : {1, 2}) {
    LocalNode part = whole;
    Narrow(*part.inputs[0], dimension, 1, 4);
    Narrow(*part.inputs[4], 2 - dimension, 1, 4);
    Narrow(part.outputs[0], dimension, 1, 4);
    Narrow(part.outputs[1], 3 - dimension, 1, 4);
    std::vector<Values> part_inputs = inputs;
    part_inputs[0] = Part(inputs[0], *part.inputs[0]);
    part_inputs[4] = Part(inputs[4], *part.inputs[4]);
    const std::vector<Values> found = Emulated(part, part_inputs);
    for (const size_t o : {0, 1}) EXPECT_EQ(found[o], Part(y[o], part.outputs[o])) << dimension;
  }
}

}  // namespace
}  // namespace partita
