// Nodes that one launch computes together equal the single nodes: the scalars of a step (graph/lower/join_scalars.h),
// and the squares of several tensors (graph/lower/join_norms.h).
#ifndef PARTITA_TESTS_OPS_HOST_JOINT_NODES_H_
#define PARTITA_TESTS_OPS_HOST_JOINT_NODES_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "graph/ir/op_definition.h"
#include "tests/ops/host/kernel_case.h"

namespace partita {

// `run(node, inputs)` gives a kernel's outputs.
template <typename Run>
void ExpectScalarsAreTheNodes(DType dtype, bool clipped, const Run& run) {
  const TensorType scalar{dtype, {}}, count{DType::kI32, {}};
  const LocalNode rate = WholeNode(
      "learning_rate",
      {{"dtype", std::string(Name(dtype))}, {"schedule", std::string("cosine")}, {"base", 0.1}, {"steps", int64_t{50}}},
      {count});
  const LocalNode increment = WholeNode("increment", {}, {count, count});
  const LocalNode apply = WholeNode("all_finite", {}, {scalar, clipped ? std::optional(scalar) : std::nullopt});
  LocalNode joint = apply;
  const LocalNode clip = WholeNode("clip_scale", {{"max_norm", 0.5}}, {scalar});
  joint.attributes = rate.attributes;
  joint.inputs.push_back(rate.inputs[0]);
  joint.outputs.insert(joint.outputs.end(), {rate.outputs[0], increment.outputs[0]});
  LocalNode clipping = joint;
  clipping.attributes.Set("max_norm", 0.5);
  clipping.outputs.push_back(clip.outputs[0]);
  const double infinity = std::numeric_limits<double>::infinity();
  for (const auto& [loss, squares] : std::vector<std::pair<double, double>>{{2, 3}, {-infinity, 3}, {2, infinity}}) {
    const Values norm = clipped ? Values{squares} : Values{};
    const Values expected = run(apply, {{loss}, norm})[0];
    const std::vector<Values> found = run(joint, {{loss}, norm, {17}});
    ASSERT_EQ(found.size(), 3u);
    EXPECT_EQ(found[0], expected);
    EXPECT_EQ(found[1], run(rate, {{17}})[0]);
    EXPECT_EQ(found[2], run(increment, {{17}, expected})[0]);
    if (!clipped) continue;
    const std::vector<Values> four = run(clipping, {{loss}, norm, {17}});
    ASSERT_EQ(four.size(), 4u);
    EXPECT_EQ(std::vector<Values>(four.begin(), four.end() - 1), found);
    EXPECT_EQ(four[3], run(clip, {norm})[0]);
  }
}

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

#endif  // PARTITA_TESTS_OPS_HOST_JOINT_NODES_H_
