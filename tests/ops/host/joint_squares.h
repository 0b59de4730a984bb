// The squares of several tensors added up as one (graph/lower/join_norms.h) are those of the single nodes and an add.
#ifndef PARTITA_TESTS_OPS_HOST_JOINT_SQUARES_H_
#define PARTITA_TESTS_OPS_HOST_JOINT_SQUARES_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/ir/op_definition.h"
#include "tests/ops/host/kernel_case.h"

namespace partita {

// A vector of each size. `narrow`: every other one is bf16.
inline LocalNode SquaresOf(DType dtype, const std::vector<int64_t>& sizes, bool narrow) {
  LocalNode node = WholeNode("sum_of_squares", {}, {TensorType{dtype, {1}}});
  node.inputs.clear();
  for (size_t i = 0; i < sizes.size(); ++i) {
    const Shape shape = {sizes[i]};
    node.inputs.emplace_back(LocalTensor{narrow && i % 2 == 1 ? DType::kBF16 : dtype, shape, WholeBox(shape)});
  }
  return node;
}

// Uneven sizes, one of them 0, one of several chunks.
inline std::vector<int64_t> UnevenSizes(int count) {
  std::vector<int64_t> sizes;
  for (int i = 0; i < count; ++i) sizes.push_back(i == 3 ? 9000 : i == 5 ? 0 : i * 37 % 300 + 1);
  return sizes;
}

// Bitwise. `run(node, inputs)` gives a kernel's outputs.
template <typename Run>
void ExpectSquaresAreTheNodes(DType dtype, int count, bool narrow, const Run& run) {
  const LocalNode all = SquaresOf(dtype, UnevenSizes(count), narrow);
  const std::vector<Values> inputs = Stored(all, SuitableInputs(all, 5));
  std::vector<Values> sums;
  for (size_t i = 0; i < inputs.size(); ++i) {
    sums.push_back(run(SquaresOf(dtype, {all.inputs[i]->elements()}, false), {inputs[i]})[0]);
  }
  const LocalNode add =
      WholeNode("add", {}, std::vector<std::optional<TensorType>>(inputs.size(), TensorType{dtype, {}}));
  EXPECT_EQ(run(all, inputs), run(add, sums)) << count << (narrow ? " with bf16" : "");
}

}  // namespace partita

#endif  // PARTITA_TESTS_OPS_HOST_JOINT_SQUARES_H_
