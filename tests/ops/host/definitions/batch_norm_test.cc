// Batch norm's kernels against its closed forms, and against facts about them.
#include <gmock/gmock.h>

#include <cmath>

#include "graph/ir/op_definition.h"
#include "ops/host/host_kernels.h"
#include "tests/ops/host/definitions/reference_runs.h"
#include "tests/ops/host/kernel_case.h"
#include "tests/ops/host/large_mean.h"

namespace partita {
namespace {

// dx = gamma inverse (dy - mean(dy) - xhat mean(dy xhat)), the closed form (Ioffe and Szegedy 2015, section 3), and the
// two separate parts add up to the fused gradient.
TEST(BatchNorm, GradientIsTheClosedForm) {
  const int64_t m = 24, c = 3;
  const TensorType x = F64({4, 2, 3, c}), vector = F64({c}), stats = F64({1, 2, c});
  const Attributes attributes{{"epsilon", 1e-3}, {"relu", false}};
  const LocalNode sums = WholeNode("batch_norm_gradient_sums", attributes, {x, x, stats, vector, vector, vector});
  const LocalNode fused = WholeNode("batch_norm_input_grad", attributes, {x, x, stats, vector, vector, vector, stats});
  const LocalNode statistics = WholeNode("batch_norm_statistics", {}, {x, vector});
  std::vector<Values> inputs = {RandomValues(m * c, 1), RandomValues(m * c, 2), {},
                                RandomValues(c, 3),     RandomValues(c, 4),     RandomValues(c, 5)};
  inputs[2] = Outputs(statistics, {inputs[0], inputs[3]}, kReference)[0];
  const std::vector<Values> gradients = Outputs(sums, inputs, kReference);
  std::vector<Values> with_dstats = inputs;
  with_dstats.push_back(gradients[0]);
  const Values dx = Outputs(fused, with_dstats, kReference)[0];
  Values expected(m * c);
  for (int64_t k = 0; k < c; ++k) {
    double mean = 0, square = 0, dy_mean = 0, product = 0;
    for (int64_t i = k; i < m * c; i += c) mean += inputs[0][i] / m;
    for (int64_t i = k; i < m * c; i += c) square += (inputs[0][i] - mean) * (inputs[0][i] - mean) / m;
    const double inverse = 1 / std::sqrt(square + 1e-3);
    for (int64_t i = k; i < m * c; i += c) {
      dy_mean += inputs[1][i] / m;
      product += inputs[1][i] * (inputs[0][i] - mean) * inverse / m;
    }
    for (int64_t i = k; i < m * c; i += c) {
      expected[i] = inputs[4][k] * inverse * (inputs[1][i] - dy_mean - (inputs[0][i] - mean) * inverse * product);
    }
    EXPECT_NEAR(gradients[1][k], product * m, 1e-12);
    EXPECT_NEAR(gradients[2][k], dy_mean * m, 1e-12);
  }
  EXPECT_LE(Distance(dx, expected), 1e-12);
  Values parts =
      Outputs(WholeNode("batch_norm_normalize_input_grad", attributes, {x, x, stats, vector, vector, vector}), inputs,
              kReference)[0];
  const Values second = Outputs(WholeNode("batch_norm_statistics_grad", {}, {x, vector, stats}),
                                {inputs[0], inputs[3], gradients[0]}, kReference)[0];
  for (size_t i = 0; i < parts.size(); ++i) parts[i] += second[i];
  EXPECT_LE(Distance(parts, dx), 1e-14);
}

// Forward and backward at once are their parts, to the bit.
TEST(BatchNorm, AtOnceIsInTurn) {
  int checked = 0;
  for (const KernelCase& c : AllCases()) {
    const std::string& op = c.node.op->name;
    const bool forward = op.starts_with("batch_norm_forward"), relu = op == "batch_norm_backward_relu";
    if (!forward && !op.starts_with("batch_norm_backward")) continue;
    const LocalNode whole = InF64(c.node);
    const TensorType x = F64(whole.inputs[0]->global), vector = F64({x.shape.back()});
    const Attributes groups{{"samples", whole.attributes.Int("samples")}};
    const std::vector<Values> found = Outputs(whole, c.inputs, kReference);
    std::vector<Values> expected, in = c.inputs;
    if (forward) {
      const Values sums =
          Outputs(WholeNode("batch_norm_statistics", groups, {x, vector}), {in[0], in[1]}, kReference)[0];
      const TensorType stats = F64(whole.outputs[1].global);
      std::vector<std::optional<TensorType>> types = {x, stats, vector, vector, vector};
      in.insert(in.begin() + 1, sums);
      if (in.size() > types.size()) types.push_back(x);
      const char* const normalize = types.size() > 5 ? "batch_norm_normalize_add" : "batch_norm_normalize";
      expected = Outputs(WholeNode(normalize, whole.attributes, types), in, kReference);
      expected.push_back(sums);
    } else {
      const TensorType stats = F64(whole.inputs[2]->global);
      std::vector<std::optional<TensorType>> types = {x, x, stats, vector, vector, vector};
      if (relu) {
        in[1] = Outputs(WholeNode("relu_grad", {}, {x, x}), {in[1], in[6]}, kReference)[0];
        in.pop_back();
      }
      const std::vector<Values> sums =
          Outputs(WholeNode("batch_norm_gradient_sums", whole.attributes, types), in, kReference);
      in.push_back(sums[0]);
      types.push_back(stats);
      expected = Outputs(WholeNode("batch_norm_input_grad", whole.attributes, types), in, kReference);
      expected.insert(expected.end(), sums.begin() + 1, sums.end());
      if (relu) expected.push_back(in[1]);
    }
    EXPECT_EQ(found, expected) << c.name;
    ++checked;
  }
  EXPECT_EQ(checked, 20);
}

// A residual is added to what was normalised, before the relu; backward, the relu's gradient comes before the sums.
TEST(BatchNorm, ResidualsAreInTurn) {
  int checked = 0;
  for (const KernelCase& c : AllCases()) {
    const bool forward = c.node.op->name == "batch_norm_normalize_add";
    if (!forward && c.node.op->name != "batch_norm_gradient_sums_relu") continue;
    const LocalNode whole = InF64(c.node);
    const TensorType x = F64(whole.inputs[0]->global), vector = F64({x.shape.back()});
    const TensorType stats = F64(whole.inputs[forward ? 1 : 2]->global);
    Attributes attributes = whole.attributes;
    std::vector<Values> expected, in = c.inputs;
    const Values last = in.back();
    in.pop_back();
    if (forward) {
      attributes.Set("relu", false);
      expected =
          Outputs(WholeNode("batch_norm_normalize", attributes, {x, stats, vector, vector, vector}), in, kReference);
      expected = Outputs(WholeNode("add", {}, {x, x}), {expected[0], last}, kReference);
      if (whole.attributes.Bool("relu")) expected = Outputs(WholeNode("relu", {}, {x}), expected, kReference);
    } else {
      in[1] = Outputs(WholeNode("relu_grad", {}, {x, x}), {in[1], last}, kReference)[0];
      expected = Outputs(WholeNode("batch_norm_gradient_sums", attributes, {x, x, stats, vector, vector, vector}), in,
                         kReference);
      expected.push_back(in[1]);
    }
    EXPECT_EQ(Outputs(whole, c.inputs, kReference), expected) << c.name;
    ++checked;
  }
  EXPECT_EQ(checked, 10);
}

// The gradient lets through exactly what the forward pass let through, by the bits, in the fast kernels and the
// reference.
TEST(BatchNorm, FusedReluHasOneMask) {
  const TensorType x{DType::kF32, {16, 14, 14, 24}}, vector{DType::kF32, {24}}, stats{DType::kF64, {1, 2, 24}};
  const Attributes attributes{{"epsilon", 1e-3}, {"relu", true}};
  const LocalNode forward = WholeNode("batch_norm_normalize", attributes, {x, stats, vector, vector, vector});
  const LocalNode grad =
      WholeNode("batch_norm_normalize_input_grad", attributes, {x, x, stats, vector, vector, vector});
  std::vector<Values> inputs = SuitableInputs(forward, 12);
  for (double& value : inputs[0]) value = std::round(8 * value) / 8;  // many elements share a value near the threshold
  for (int64_t c = 0; c < 24; ++c) {                                  // the threshold falls on a value that occurs
    inputs[4][c] = 0;
    inputs[1][c] = 0;
    inputs[1][24 + c] = 16 * 14 * 14;
    inputs[2][c] = std::round(8 * inputs[2][c]) / 8;
  }
  for (const std::string family : {"fast", "reference"}) {
    if (HostKernelNames("relu").size() == 1 && family == "fast") continue;
    const Values y = Outputs(forward, inputs, {.family = family})[0];
    const Values dx = Outputs(grad, {inputs[0], Values(y.size(), 1), inputs[1], inputs[2], inputs[3], inputs[4]},
                              {.family = family})[0];
    for (size_t i = 0; i < y.size(); ++i) ASSERT_EQ(dx[i] != 0, y[i] > 0) << family << " element " << i;
  }
}

TEST(BatchNorm, ALargeMeanDoesNotMatter) {
  for (const std::string family : {"fast", "reference"}) {
    if (HostKernelNames("relu").size() == 1 && family == "fast") continue;
    SCOPED_TRACE(family);
    ExpectMeanDoesNotMatter([&](const LocalNode& node, const std::vector<Values>& inputs) {
      return Outputs(node, inputs, {.family = family});
    });
  }
}

TEST(BatchNorm, RunningAveragesTakeGroupsInOrder) {
  const LocalNode node = WholeNode("batch_norm_running", {{"momentum", 0.1}, {"count", int64_t{4}}},
                                   {F64({2, 2, 1}), F64({1}), F64({1}), std::nullopt});
  // Group means 3 and 5 (shift 2), biased variances 1 and 2; unbiased 4/3 and 8/3.
  const std::vector<Values> out = Outputs(node, {{4, 8, 12, 44}, {2}, {10}, {}}, kReference);
  EXPECT_NEAR(out[0][0], 0.9 * (0.9 * 2 + 0.1 * 3) + 0.1 * 5, 1e-12);
  EXPECT_NEAR(out[1][0], 0.9 * (0.9 * 10 + 0.1 * 4 / 3) + 0.1 * 8 / 3, 1e-12);
}

}  // namespace
}  // namespace partita
