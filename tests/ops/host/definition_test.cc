// Reference kernels against definitions that are written down a second time here, or against facts about them.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "graph/ir/op_definition.h"
#include "ops/functors/epilogue.h"
#include "ops/host/host_kernels.h"
#include "ops/registry.h"
#include "tests/ops/host/kernel_case.h"
#include "tests/ops/host/large_mean.h"

namespace partita {
namespace {

TensorType F64(Shape shape) { return {DType::kF64, std::move(shape)}; }
constexpr RunOptions kReference{.family = {}, .reference_only = true};

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

// Overlapping windows of few distinct values: all kernels agree exactly.
TEST(MaxPool, KernelsAgreeOnTies) {
  const Attributes attributes{{"kernel", IntList{3, 3}}, {"stride", IntList{1, 2}}, {"padding", IntList{1, 1, 1, 1}}};
  const TensorType x{DType::kF32, {3, 9, 8, 21}};
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
      for (const LocalNode& typed : {node, InBf16(node)}) {
        const Values y = Outputs(typed, inputs, {.family = kernel.substr(0, kernel.find('_'))})[0];
        for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), i / 16 == 2) << kernel << " element " << i;
      }
    }
  }
}

// conv2d_epilogue and matmul_epilogue are what their names say, one op after the other.
TEST(Epilogue, IsTheProductThenBiasThenTheActivation) {
  int checked = 0;
  for (const KernelCase& c : AllCases()) {
    const std::string& op = c.node.op->name;
    if (op != "conv2d_epilogue" && op != "matmul_epilogue") continue;
    const LocalNode whole = InF64(c.node);
    LocalNode product = whole;
    product.op = Ops().Find(op.substr(0, op.find('_')));
    product.attributes.Remove("activation");
    product.attributes.Remove("wide");
    product.inputs.pop_back();
    Values y = Outputs(product, {c.inputs[0], c.inputs[1]}, kReference)[0];
    const TensorType type = F64(whole.outputs[0].global);
    if (whole.inputs[2].has_value()) {
      y = Outputs(WholeNode("bias", {}, {type, F64({type.shape.back()})}), {y, c.inputs[2]}, kReference)[0];
    }
    const std::string& activation = whole.attributes.String("activation");
    if (!activation.empty()) y = Outputs(WholeNode(activation, {}, {type}), {y}, kReference)[0];
    EXPECT_EQ(Outputs(whole, c.inputs, kReference)[0], y) << c.name;
    ++checked;
  }
  // With and without a bias; 16 products are there once more, wide; and one of a sequence.
  EXPECT_EQ(checked, static_cast<int>(NamesOf(EpilogueOps()).size() + 1) * (2 * 31 + 16) + 1);
}

// matmul_bias_grad is a product and the gradient of a bias.
TEST(MatMulBiasGrad, IsTheProductAndTheSumOfRows) {
  int checked = 0;
  for (const KernelCase& c : AllCases()) {
    if (c.node.op->name != "matmul_bias_grad") continue;
    const LocalNode whole = InF64(c.node);
    LocalNode product = whole;
    product.op = Ops().Find("matmul");
    product.attributes.Remove("bias_of");
    product.outputs.pop_back();
    const size_t operand = whole.attributes.String("bias_of") == "x" ? 0 : 1;
    const LocalNode sum = WholeNode("bias_grad", {}, {F64(whole.inputs[operand]->global)});
    const std::vector<Values> found = Outputs(whole, c.inputs, kReference);
    EXPECT_EQ(found[0], Outputs(product, c.inputs, kReference)[0]) << c.name;
    EXPECT_LE(Distance(found[1], Outputs(sum, {c.inputs[operand]}, kReference)[0]), 1e-14) << c.name;
    ++checked;
  }
  EXPECT_EQ(checked, 13);
}

// matmul_relu_mask is matmul_epilogue and the signs of its result; matmul_relu_grad a product, and relu_grad of one
// with those signs.
TEST(ReluMask, IsWhatTheGradientReads) {
  int checked = 0;
  for (const KernelCase& c : AllCases()) {
    const bool forward = c.node.op->name == "matmul_relu_mask";
    if (!forward && c.node.op->name != "matmul_relu_grad") continue;
    const LocalNode whole = InF64(c.node);
    LocalNode product = whole;
    product.op = Ops().Find(forward ? "matmul_epilogue" : "matmul");
    if (forward) product.outputs.pop_back();
    if (!forward) product.inputs.pop_back();
    const std::vector<Values> found = Outputs(whole, c.inputs, kReference);
    Values y = Outputs(product, c.inputs, kReference)[0];
    const Values& mask = forward ? found[1] : c.inputs[2];
    const size_t channels = static_cast<size_t>(whole.outputs[0].global.back());
    for (size_t i = 0; i < y.size(); ++i) {
      const size_t byte = i / channels * ((channels + 127) / 128 * 16) + i % channels / 8;
      const bool bit = (static_cast<int>(mask[byte]) >> (i % channels % 8) & 1) != 0;
      if (!forward && !bit) y[i] = 0;
      EXPECT_EQ(bit, forward ? y[i] > 0 : bit) << c.name << " element " << i;
    }
    EXPECT_EQ(found[0], y) << c.name;
    ++checked;
  }
  EXPECT_EQ(checked, 18);
}

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
