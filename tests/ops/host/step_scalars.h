// The scalars of a step computed as one (graph/lower/join_scalars.h) are those of the single nodes.
#ifndef PARTITA_TESTS_OPS_HOST_STEP_SCALARS_H_
#define PARTITA_TESTS_OPS_HOST_STEP_SCALARS_H_

#include <gtest/gtest.h>

#include <limits>
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

}  // namespace partita

#endif  // PARTITA_TESTS_OPS_HOST_STEP_SCALARS_H_
