// Reference kernels against definitions that are written down a second time here, or against facts about them.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <utility>

#include "graph/ir/op_definition.h"
#include "ops/host/host_kernels.h"
#include "ops/registry.h"
#include "tests/ops/host/definitions/reference_runs.h"
#include "tests/ops/host/kernel_case.h"

namespace partita {
namespace {

double Dot(const Values& a, const Values& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// y[n,i,j,o] by asking for every element on its own.
Values BruteForceConvolution(const LocalNode& node, const Values& x, const Values& w) {
  const Shape &xs = node.inputs[0]->global, &ws = node.inputs[1]->global, &ys = node.outputs[0].global;
  const auto &stride = node.attributes.Ints("stride"), &padding = node.attributes.Ints("padding"),
             &dilation = node.attributes.Ints("dilation");
  const int64_t per_group = ys[3] / node.attributes.Int("groups");
  Values y;
  for (int64_t e = 0; e < Elements(ys); ++e) {
    const int64_t o = e % ys[3], j = e / ys[3] % ys[2], i = e / ys[3] / ys[2] % ys[1], n = e / ys[3] / ys[2] / ys[1];
    double sum = 0;
    for (int64_t f = 0; f < ws[1] * ws[2] * ws[3]; ++f) {
      const int64_t k = f % ws[3], q = f / ws[3] % ws[2], p = f / ws[3] / ws[2];
      const int64_t row = i * stride[0] + p * dilation[0] - padding[0];
      const int64_t column = j * stride[1] + q * dilation[1] - padding[2];
      if (row < 0 || row >= xs[1] || column < 0 || column >= xs[2]) continue;
      const int64_t channel = o / per_group * ws[3] + k;
      sum += x[((n * xs[1] + row) * xs[2] + column) * xs[3] + channel] * w[o * ws[1] * ws[2] * ws[3] + f];
    }
    y.push_back(sum);
  }
  return y;
}

TEST(ReferenceConvolution, IsTheDefinition) {
  int checked = 0;
  for (const KernelCase& c : AllCases()) {
    if (c.node.op->name != "conv2d") continue;
    const Values y = Outputs(InF64(c.node), c.inputs, kReference)[0];
    EXPECT_LE(Distance(y, BruteForceConvolution(c.node, c.inputs[0], c.inputs[1])), 1e-13) << c.name;
    ++checked;
  }
  EXPECT_GE(checked, 10);
}

// <dy, conv(x, w)> = <input_grad(dy, w), x> = <weight_grad(x, dy), w>: a convolution is linear in both.
TEST(ReferenceConvolution, GradientsAreAdjoints) {
  for (const KernelCase& c : AllCases()) {
    if (c.node.op->name != "conv2d") continue;
    const LocalNode forward = InF64(c.node);
    const Values &x = c.inputs[0], &w = c.inputs[1];
    const Values dy = RandomValues(forward.outputs[0].elements(), 77);
    const double expected = Dot(dy, Outputs(forward, c.inputs, kReference)[0]);
    Attributes attributes = forward.attributes;
    attributes.Set("shape", forward.inputs[0]->global);
    const TensorType xt = F64(forward.inputs[0]->global), wt = F64(forward.inputs[1]->global),
                     yt = F64(forward.outputs[0].global);
    const LocalNode input_grad = WholeNode("conv2d_input_grad", attributes, {yt, wt});
    EXPECT_NEAR(Dot(x, Outputs(input_grad, {dy, w}, kReference)[0]), expected, 1e-9) << c.name;
    attributes.Set("shape", forward.inputs[1]->global);
    const LocalNode weight_grad = WholeNode("conv2d_weight_grad", attributes, {xt, yt});
    EXPECT_NEAR(Dot(w, Outputs(weight_grad, {x, dy}, kReference)[0]), expected, 1e-9) << c.name;
  }
}

// A block of the classes knows which labels there are: the same sentence whether they are split or not.
TEST(Labels, OneThatIsNoClassIsRefusedOnEveryBlock) {
  const TensorType logits = F64({2, 6}), labels{DType::kI32, {2}}, row = F64({2});
  LocalNode whole = WholeNode("softmax_cross_entropy", {}, {logits, labels, std::nullopt});
  LocalNode block = WholeNode("cross_entropy", {}, {logits, labels, std::nullopt, row, row});
  Narrow(*block.inputs[0], 1, 2, 2);
  const std::string sentence = "sample 1 of the batch has label 6, allowed are 0 to 5";
  const auto refusal = [](const LocalNode& node, const std::vector<Values>& inputs) {
    return std::string(RunKernel(node, inputs, kReference).status().message());
  };
  EXPECT_NE(refusal(whole, {Values(12), {5, 6}, {}}).find(sentence), std::string::npos);
  EXPECT_NE(refusal(block, {Values(4), {5, 6}, {}, {0, 0}, {1, 1}}).find(sentence), std::string::npos);
}

std::vector<std::string> PoolFamilies() {
  std::vector<std::string> families;
  for (const std::string& kernel : HostKernelNames("max_pool_grad"))
    families.push_back(kernel.substr(0, kernel.find('_')));
  return families;
}

// Window [2 2; 2 1]: the gradient goes to the first 2 in row-major order, for every lane of a vector.
TEST(MaxPool, TiesGoToTheFirstInRowMajorOrder) {
  const int64_t channels = 29;
  const TensorType x{DType::kF32, {1, 2, 2, channels}}, y{DType::kF32, {1, 1, 1, channels}};
  const LocalNode node = WholeNode("max_pool_grad", {{"kernel", IntList{2, 2}}, {"stride", IntList{2, 2}}}, {x, y, y});
  Values in(4 * channels, 2), expected(4 * channels, 0);
  for (int64_t c = 0; c < channels; ++c) {
    in[3 * channels + c] = 1;
    if (c % 2 == 1) in[c] = 0;  // odd channels: the second is the first 2
    expected[(c % 2) * channels + c] = static_cast<double>(c + 1);
  }
  Values dy;
  for (int64_t c = 0; c < channels; ++c) dy.push_back(static_cast<double>(c + 1));
  for (const std::string& family : PoolFamilies()) {
    EXPECT_EQ(Outputs(node, {in, Values(channels, 2), dy}, {.family = family})[0], expected) << family;
  }
}

// Windows of few distinct values, overlapping or not: all kernels agree exactly.
TEST(MaxPool, KernelsAgreeOnTies) {
  const Attributes overlapping{{"kernel", IntList{3, 3}}, {"stride", IntList{1, 2}}, {"padding", IntList{1, 1, 1, 1}}};
  const Attributes separate{{"kernel", IntList{2, 2}}, {"stride", IntList{2, 2}}};
  for (const auto& [attributes, size] : {std::pair{overlapping, Shape{3, 9, 8, 21}}, {separate, Shape{3, 10, 8, 21}}}) {
    const TensorType x{DType::kF32, size};
    const LocalNode forward = WholeNode("max_pool", attributes, {x});
    Values in = RandomValues(forward.inputs[0]->elements(), 5);
    for (double& value : in) value = std::floor(value);
    const TensorType y{DType::kF32, forward.outputs[0].global};
    const LocalNode node = WholeNode("max_pool_grad", attributes, {x, y, y});
    const Values out = Outputs(forward, {in}, kReference)[0];
    Values dy = RandomValues(static_cast<int64_t>(out.size()), 6);
    for (double& value : dy) value = std::floor(4 * value);
    const Values expected = Outputs(node, {in, out, dy}, kReference)[0];
    EXPECT_EQ(Dot(expected, Values(expected.size(), 1)), Dot(dy, Values(dy.size(), 1)));
    for (const std::string& family : PoolFamilies()) {
      EXPECT_EQ(Outputs(forward, {in}, {.family = family})[0], out) << family;
      EXPECT_EQ(Outputs(node, {in, out, dy}, {.family = family})[0], expected) << family;
    }
  }
}

// A value that is not a number is not lost on the way: maxima and the fused relu let it through.
TEST(NotANumber, GoesThrough) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const bool reference : {false, true}) {
    const RunOptions options{.reference_only = reference};
    const TensorType x{DType::kF32, {1, 2, 2, 18}};
    Values in(72, 1);
    in[20] = nan;
    const LocalNode pool = WholeNode("max_pool", {{"kernel", IntList{2, 2}}, {"stride", IntList{2, 2}}}, {x});
    EXPECT_TRUE(std::isnan(Outputs(pool, {in}, options)[0][2]));
    const TensorType vector{DType::kF32, {18}}, stats{DType::kF64, {1, 2, 18}};
    const LocalNode normalize = WholeNode("batch_norm_normalize", {{"relu", true}}, {x, stats, vector, vector, vector});
    Values sums(36, 4);
    EXPECT_TRUE(
        std::isnan(Outputs(normalize, {in, sums, Values(18, 0), Values(18, 1), Values(18, 0)}, options)[0][20]));
  }
}

// Of all kernels: an image with one NaN, and relu behind it.
TEST(NotANumber, GoesThroughTheReluOfAnEpilogue) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const TensorType x{DType::kF32, {2, 6, 6, 16}}, w{DType::kF32, {16, 1, 1, 16}}, bias{DType::kF32, {16}};
  const LocalNode conv = WholeNode("conv2d_epilogue", {{"activation", "relu"}}, {x, w, bias});
  const TensorType rows{DType::kF32, {72, 16}}, square{DType::kF32, {16, 16}};
  const LocalNode product = WholeNode("matmul_epilogue", {{"activation", "relu"}}, {rows, square, bias});
  for (const LocalNode& node : {conv, product}) {
    std::vector<Values> inputs = SuitableInputs(node, 4);
    inputs[0][40] = nan;  // of pixel, or row, 2
    for (const std::string& kernel : HostKernelNames(node.op->name)) {
      const std::string family = kernel.substr(0, kernel.find('_'));
      // These refuse the window, groups of several channels, and an activation; their tests have a NaN of their own.
      if (family == "winograd" || family == "grouped" || family == "packed") continue;
      for (const LocalNode& typed : {node, InBf16(node)}) {
        const Values y = Outputs(typed, inputs, {.family = family})[0];
        for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), i / 16 == 2) << kernel << " element " << i;
      }
    }
  }
}

TEST(AveragePool, BorderRules) {
  const TensorType x = F64({1, 2, 2, 1});
  Attributes attributes{{"kernel", IntList{3, 3}}, {"stride", IntList{1, 1}}, {"padding", IntList{1, 1, 1, 1}}};
  attributes.Set("count_padding", true);
  EXPECT_LE(
      Distance(Outputs(WholeNode("average_pool", attributes, {x}), {{1, 2, 3, 4}}, kReference)[0], Values(4, 10.0 / 9)),
      1e-15);
  attributes.Set("count_padding", false);
  EXPECT_LE(
      Distance(Outputs(WholeNode("average_pool", attributes, {x}), {{1, 2, 3, 4}}, kReference)[0], Values(4, 2.5)),
      1e-15);
}

TEST(SoftmaxCrossEntropy, SmoothedLossOfKnownLogits) {
  const LocalNode node = WholeNode("softmax_cross_entropy", {{"label_smoothing", 0.3}},
                                   {F64({2, 3}), TensorType{DType::kI32, {2}}, F64({2})});
  const Values logits = {1000, 1000, 1000, 0, std::log(2.0), 0};  // the first row alone would overflow without a shift
  const double second = 0.7 * std::log(2.0) + 0.1 * (std::log(4.0) + std::log(2.0) + std::log(4.0));
  EXPECT_NEAR(Outputs(node, {logits, {2, 1}, {1, 1}}, kReference)[0][0], (std::log(3.0) + second) / 2, 1e-12);
  EXPECT_NEAR(Outputs(node, {logits, {2, 1}, {0, 1}}, kReference)[0][0], second / 2, 1e-12);
}

TEST(Accuracy, TiesGoToTheLowestIndex) {
  const LocalNode node = WholeNode("accuracy", {}, {F64({2, 3}), TensorType{DType::kI32, {2}}, std::nullopt});
  EXPECT_EQ(Outputs(node, {{1, 5, 5, 7, 7, 7}, {1, 2}, {}}, kReference)[0][0], 0.5);
}

TEST(Sgd, FollowsPyTorch) {
  const TensorType x = F64({1}), scalar = F64({}), apply{DType::kI32, {}};
  const LocalNode plain = WholeNode("sgd", {{"weight_decay", 0.5}}, {x, x, scalar, apply, scalar});
  EXPECT_NEAR(Outputs(plain, {{2}, {3}, {0.1}, {1}, {0.5}}, kReference)[0][0], 2 - 0.1 * (1.5 + 1), 1e-15);
  const Attributes attributes{{"weight_decay", 0.5}, {"momentum", 0.9}, {"nesterov", true}};
  const LocalNode momentum = WholeNode("sgd_momentum", attributes, {x, x, x, scalar, apply, std::nullopt});
  const std::vector<Values> out = Outputs(momentum, {{2}, {3}, {4}, {0.1}, {1}, {}}, kReference);
  EXPECT_NEAR(out[1][0], 0.9 * 4 + 4, 1e-15);
  EXPECT_NEAR(out[0][0], 2 - 0.1 * (4 + 0.9 * out[1][0]), 1e-15);
}

TEST(AllFinite, IsOneWhereLossAndNormAreNumbers) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();
  const LocalNode loss = WholeNode("all_finite", {}, {F64({}), std::nullopt});
  const LocalNode both = WholeNode("all_finite", {}, {F64({}), F64({})});
  const std::vector<std::pair<double, bool>> values = {{0, true},     {-1e308, true}, {5e-324, true},
                                                       {kNan, false}, {kInf, false},  {-kInf, false}};
  for (const auto& [first, first_finite] : values) {
    EXPECT_EQ(Outputs(loss, {{first}, {}}, kReference)[0][0], first_finite) << first;
    for (const auto& [second, second_finite] : values) {
      EXPECT_EQ(Outputs(both, {{first}, {second}}, kReference)[0][0], first_finite && second_finite)
          << first << " " << second;
    }
  }
}

// Parts of a 4 x 3 tensor on a rank that owns rows 1 and 2: its own, which reaches over rows 0 to 2 and a margin of one
// column; one from above, which ends in row 1; one that does not touch it.
TEST(ReferenceHaloExchangeAdjoint, AddsPartsWhereTheyLie) {
  const Shape whole = {4, 3};
  LocalNode node{"sum", Ops().Find("halo_exchange_adjoint"), {}, {}, {{DType::kF64, whole, {{1, 0}, {2, 3}}}}};
  node.inputs.push_back(LocalTensor{DType::kF64, whole, {{0, -1}, {3, 4}}});
  node.inputs.push_back(LocalTensor{DType::kF64, whole, {{0, 1}, {2, 2}}});
  node.inputs.push_back(LocalTensor{DType::kF64, whole, {{3, 0}, {1, 3}}});
  const Values own = {9, 1, 2, 3, 9, 4, 5, 6, 9, 7, 8, 10}, above = {50, 60, 100, 200}, apart = {9, 9, 9};
  EXPECT_EQ(Outputs(node, {own, above, apart}, kReference)[0], (Values{4, 105, 206, 7, 8, 10}));
  node.inputs.clear();
  EXPECT_EQ(Outputs(node, {}, kReference)[0], (Values(6, 0.0))) << "nobody has a part of it";
}

}  // namespace
}  // namespace partita
