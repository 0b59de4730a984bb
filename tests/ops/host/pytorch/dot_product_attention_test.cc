// Scaled dot-product attention beside PyTorch's, parts of a node beside the whole, and lengths that cannot be.
#include "tests/ops/host/pytorch/dot_product_attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "ops/host/host_kernels.h"
#include "tests/ops/host/kernel_case.h"
#include "tests/ops/host/sequence_claims.h"

namespace partita {
namespace {

using Types = std::vector<std::optional<TensorType>>;

constexpr double kTolerance = 1e-14;

struct Sizes {
  int64_t samples, queries, keys, heads, groups, depth, channels;
};

TensorType TypeOf(DType dtype, Shape shape) { return {dtype, std::move(shape)}; }

// query, keys, values, lengths, the bias, of which there is none without a shape, and the iteration of what drops.
Types InputsOf(DType dtype, const Sizes& s, bool has_lengths, const Shape& bias, bool drops) {
  return {TypeOf(dtype, {s.samples, s.queries, s.heads, s.depth}),
          TypeOf(dtype, {s.samples, s.keys, s.groups, s.depth}),
          TypeOf(dtype, {s.samples, s.keys, s.groups, s.channels}),
          has_lengths ? std::optional(TypeOf(DType::kI32, {s.samples})) : std::nullopt,
          bias.empty() ? std::nullopt : std::optional(TypeOf(dtype, bias)),
          drops ? std::optional(TypeOf(DType::kI32, {})) : std::nullopt};
}

LocalNode Forward(DType dtype, const Sizes& s, bool has_lengths, const Attributes& attributes, const Shape& bias = {}) {
  return WholeNode("scaled_dot_product_attention_forward", attributes,
                   InputsOf(dtype, s, has_lengths, bias, attributes.Has("dropout_rate")));
}

LocalNode Backward(DType dtype, const Sizes& s, bool has_lengths, const Attributes& attributes, const Shape& bias = {},
                   const std::string& op = "scaled_dot_product_attention_grad") {
  const TensorType output = TypeOf(dtype, {s.samples, s.queries, s.heads, s.channels});
  Types types = {output, output, TypeOf(dtype, {s.samples, s.heads, s.queries})};
  for (const auto& type : InputsOf(dtype, s, has_lengths, bias, false)) types.push_back(type);
  return WholeNode(op, attributes, types);
}

LocalNode BiasBackward(DType dtype, const Sizes& s, bool has_lengths, const Attributes& attributes, const Shape& bias) {
  return Backward(dtype, s, has_lengths, attributes, bias, "scaled_dot_product_attention_bias_grad");
}

TEST(DotProductAttention, IsThatOfPyTorch) {
  using namespace pytorch;
  for (const DotProductAttention& c : AllDotProductAttentions()) {
    const Sizes sizes{kDotProductSamples, kDotProductQueries, kDotProductKeys,    kDotProductHeads,
                      c.groups,           kDotProductDepth,   kDotProductChannels};
    const Attributes attributes{{"causal", c.causal}, {"scale", c.scale}};
    const bool has_lengths = !c.lengths.empty();
    const Shape bias(c.bias_shape.begin(), c.bias_shape.end());
    const std::vector<Values> y = Outputs(Forward(DType::kF64, sizes, has_lengths, attributes, bias),
                                          {c.query, c.keys, c.values, c.lengths, c.bias, {}}, {.reference_only = true});
    EXPECT_LE(Distance(y[0], c.output), kTolerance);
    const std::vector<Values> inputs = {c.doutput, y[0], y[1], c.query, c.keys, c.values, c.lengths, c.bias, {}};
    const std::vector<Values> back =
        Outputs(Backward(DType::kF64, sizes, has_lengths, attributes, bias), inputs, {.reference_only = true});
    EXPECT_LE(Distance(back[0], c.dquery), kTolerance);
    EXPECT_LE(Distance(back[1], c.dkeys), kTolerance);
    EXPECT_LE(Distance(back[2], c.dvalues), kTolerance);
    if (bias.empty()) continue;
    const LocalNode of_bias = BiasBackward(DType::kF64, sizes, has_lengths, attributes, bias);
    EXPECT_LE(Distance(Outputs(of_bias, inputs, {.reference_only = true})[0], c.dbias), kTolerance);
  }
}

// The same on the fast kernels, which also take -infinity for a key that is not seen.
TEST(DotProductAttention, IsThatOfPyTorchInF32) {
  using namespace pytorch;
  for (const DotProductAttention& c : AllDotProductAttentions()) {
    const Sizes sizes{kDotProductSamples, kDotProductQueries, kDotProductKeys,    kDotProductHeads,
                      c.groups,           kDotProductDepth,   kDotProductChannels};
    const Attributes attributes{{"causal", c.causal}, {"scale", c.scale}};
    const Shape bias(c.bias_shape.begin(), c.bias_shape.end());
    const bool has_lengths = !c.lengths.empty();
    const std::vector<Values> y = Outputs(Forward(DType::kF32, sizes, has_lengths, attributes, bias),
                                          {c.query, c.keys, c.values, c.lengths, c.bias, {}});
    EXPECT_LE(Distance(y[0], c.output), 1e-6);
    const std::vector<Values> inputs = {c.doutput, y[0], y[1], c.query, c.keys, c.values, c.lengths, c.bias, {}};
    const std::vector<Values> back = Outputs(Backward(DType::kF32, sizes, has_lengths, attributes, bias), inputs);
    EXPECT_LE(Distance(back[0], c.dquery), 1e-6);
    EXPECT_LE(Distance(back[1], c.dkeys), 1e-6);
    EXPECT_LE(Distance(back[2], c.dvalues), 1e-6);
    if (bias.empty()) continue;
    const LocalNode of_bias = BiasBackward(DType::kF32, sizes, has_lengths, attributes, bias);
    EXPECT_LE(Distance(Outputs(of_bias, inputs)[0], c.dbias), 1e-6);
  }
}

// So large that threads share queries, keys and heads.
TEST(DotProductAttention, IsTheSameOnSeveralThreads) {
  const Sizes sizes{3, 70, 90, 4, 2, 33, 40};
  for (const bool causal : {false, true}) {
    ExpectTheSameOnSeveralThreads(Forward(DType::kF32, sizes, true, {{"causal", causal}}));
    ExpectTheSameOnSeveralThreads(Backward(DType::kF32, sizes, true, {{"causal", causal}}));
    for (const Shape& bias : {Shape{3, 4, 70, 90}, Shape{4, 70, 90}, Shape{70, 90}, Shape{3, 1, 1, 90}}) {
      ExpectTheSameOnSeveralThreads(Forward(DType::kF32, sizes, true, {{"causal", causal}}, bias));
      ExpectTheSameOnSeveralThreads(BiasBackward(DType::kF32, sizes, true, {{"causal", causal}}, bias));
    }
  }
}

// What lies behind a sequence's end is not read, whatever it is; of a sequence without keys the output is 0, and so are
// its gradients.
TEST(DotProductAttention, ReadsNoKeyBehindTheEnd) {
  const Sizes sizes{3, 2, 4, 2, 1, 5, 3};
  const LocalNode forward = Forward(DType::kF32, sizes, true, {}), backward = Backward(DType::kF32, sizes, true, {});
  std::vector<Values> inputs = SuitableInputs(forward, 5), back = SuitableInputs(backward, 5);
  inputs[3] = back[6] = {4, 0, 1};
  const auto spoilt = [&](Values values, int64_t width) {
    for (int64_t n = 0; n < sizes.samples; ++n) {
      for (int64_t i = static_cast<int64_t>(inputs[3][n]) * width; i < sizes.keys * width; ++i) {
        values[n * sizes.keys * width + i] = 1e30;
      }
    }
    return values;
  };
  std::vector<Values> other = inputs, other_back = back;
  other[1] = spoilt(inputs[1], sizes.depth);
  other[2] = spoilt(inputs[2], sizes.channels);
  other_back[4] = spoilt(back[4], sizes.depth);
  other_back[5] = spoilt(back[5], sizes.channels);
  const auto sample = [](const Values& values, int64_t n) {
    const auto size = static_cast<std::ptrdiff_t>(values.size() / 3);
    return Values(values.begin() + n * size, values.begin() + (n + 1) * size);
  };
  for (const std::string& kernel : HostKernelNames(forward.op->name)) {
    SCOPED_TRACE(kernel);
    const RunOptions options{.family = kernel.substr(0, kernel.find('_'))};
    const std::vector<Values> y = Outputs(forward, inputs, options), d = Outputs(backward, back, options);
    EXPECT_EQ(Outputs(forward, other, options), y);
    EXPECT_EQ(Outputs(backward, other_back, options), d);
    for (const Values& each : {y[0], y[1], d[0], d[1], d[2]}) {
      EXPECT_EQ(sample(each, 1), Values(each.size() / 3, 0));
    }
    for (int64_t row = 0; row < sizes.queries * sizes.heads; ++row) {  // the only key's value
      EXPECT_EQ(Values(y[0].end() - 3 * (row + 1), y[0].end() - 3 * row),
                Values(inputs[2].begin() + 24, inputs[2].begin() + 27));
    }
    EXPECT_EQ(Values(d[1].begin() + 45, d[1].end()), Values(15, 0));  // three keys behind the end
    EXPECT_EQ(Values(d[2].begin() + 27, d[2].end()), Values(9, 0));
  }
}

// A part of the queries sees what these queries of the whole see, and a part of the heads reads its own group.
TEST(DotProductAttention, ThePartsOfANodeAreThoseOfTheWhole) {
  const Sizes sizes{2, 5, 6, 4, 1, 3, 2};
  const LocalNode whole = Forward(DType::kF32, sizes, true, {{"causal", true}}, {4, 5, 6});
  const std::vector<Values> inputs = SuitableInputs(whole, 5);
  for (const int dimension : {1, 2}) {
    LocalNode part = whole;
    Narrow(*part.inputs[0], dimension, 1, 4);
    Narrow(*part.inputs[4], 2 - dimension, 1, 4);
    Narrow(part.outputs[0], dimension, 1, 4);
    Narrow(part.outputs[1], 3 - dimension, 1, 4);
    std::vector<Values> part_inputs = inputs;
    part_inputs[0] = Part(inputs[0], *part.inputs[0]);
    part_inputs[4] = Part(inputs[4], *part.inputs[4]);
    for (const std::string& kernel : HostKernelNames(whole.op->name)) {
      const RunOptions options{.family = kernel.substr(0, kernel.find('_'))};
      const std::vector<Values> y = Outputs(whole, inputs, options), found = Outputs(part, part_inputs, options);
      for (const size_t o : {0, 1}) EXPECT_LE(Distance(found[o], Part(y[o], part.outputs[o])), 1e-6) << kernel;
    }
  }
}

// Keys that a bias hides are not read, and a query that sees none gives 0, whatever block of keys they are in. A score
// that is not a number is not hidden.
TEST(DotProductAttention, ABiasHidesKeys) {
  constexpr double kHidden = -std::numeric_limits<double>::infinity();
  const Sizes sizes{1, 3, 600, 1, 1, 4, 2};
  const LocalNode forward = Forward(DType::kF32, sizes, false, {}, {3, 600});
  const LocalNode backward = Backward(DType::kF32, sizes, false, {}, {3, 600});
  std::vector<Values> inputs = SuitableInputs(forward, 5);
  std::fill_n(inputs[4].begin(), 599, kHidden);         // query 0 sees the last key
  std::fill_n(inputs[4].begin() + 600, 600, kHidden);   // query 1 none
  std::fill_n(inputs[4].begin() + 1201, 599, kHidden);  // query 2 the first
  for (const std::string& kernel : HostKernelNames(forward.op->name)) {
    SCOPED_TRACE(kernel);
    const RunOptions options{.family = kernel.substr(0, kernel.find('_'))};
    const std::vector<Values> y = Outputs(forward, inputs, options);
    EXPECT_EQ(Values(y[0].begin(), y[0].begin() + 2), Values(inputs[2].end() - 2, inputs[2].end()));
    EXPECT_EQ(Values(y[0].begin() + 2, y[0].begin() + 4), Values(2, 0));
    EXPECT_EQ(Values(y[0].begin() + 4, y[0].end()), Values(inputs[2].begin(), inputs[2].begin() + 2));
    const std::vector<Values> d =
        Outputs(backward, {Values(6, 1), y[0], y[1], inputs[0], inputs[1], inputs[2], {}, inputs[4], {}}, options);
    for (const Values& each : d) {
      EXPECT_TRUE(std::ranges::all_of(each, [](double value) { return std::isfinite(value); }));
    }
    EXPECT_EQ(Values(d[2].begin() + 2, d[2].end() - 2), Values(1196, 0));
    std::vector<Values> wrong = inputs;
    std::fill_n(wrong[4].begin() + 600, 600, std::numeric_limits<double>::quiet_NaN());
    EXPECT_TRUE(std::isnan(Outputs(forward, wrong, options)[0][2]));
  }
}

// Of values that are all 1 a query's output is the share of its probabilities that are kept, scaled: 1 on average. What
// is dropped is drawn anew in each step, and by the place in the batch and the whole node alone.
TEST(DotProductAttention, DropsProbabilitiesByTheirPlace) {
  Attributes attributes{{"dropout_rate", 0.25}, {"key", std::string("drop")}};
  const LocalNode node = Forward(DType::kF32, {2, 40, 300, 4, 2, 3, 1}, false, attributes);
  attributes.Set("first_sample", int64_t{1});
  const LocalNode second = Forward(DType::kF32, {1, 40, 300, 4, 2, 3, 1}, false, attributes);
  std::vector<Values> inputs = SuitableInputs(node, 5);
  inputs[2].assign(inputs[2].size(), 1);
  inputs[5] = {3};
  const auto half = [](const Values& values) {
    return Values(values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  };
  std::vector<Values> alone = inputs, next = inputs;
  for (const size_t i : {0, 1, 2}) alone[i] = half(inputs[i]);
  next[5] = {4};
  for (const std::string& kernel : HostKernelNames(node.op->name)) {
    SCOPED_TRACE(kernel);
    const RunOptions options{.family = kernel.substr(0, kernel.find('_'))};
    const Values y = Outputs(node, inputs, options)[0];
    double sum = 0;
    for (const double each : y) sum += each;
    EXPECT_NEAR(sum / static_cast<double>(y.size()), 1, 0.01);
    EXPECT_GT(*std::ranges::max_element(y) - *std::ranges::min_element(y), 0.05);
    EXPECT_GT(Distance(Outputs(node, next, options)[0], y), 0.01);
    EXPECT_EQ(Outputs(second, alone, options)[0], half(y));
  }
}

// Scores far from 0 are neither infinite nor lost.
TEST(DotProductAttention, LargeScoresAreNoTrouble) {
  const Sizes sizes{1, 3, 5, 1, 1, 4, 2};
  const LocalNode node = Forward(DType::kF32, sizes, false, {{"scale", 1.0}});
  std::vector<Values> inputs = SuitableInputs(node, 5);
  for (const double offset : {-3000.0, 3000.0}) {
    std::vector<Values> shifted = inputs;  // all scores of a query are moved by the same amount
    for (int64_t k = 0; k < sizes.keys; ++k) shifted[1][k * 4] = 1;
    for (int64_t i = 0; i < sizes.queries; ++i) shifted[0][i * 4] = offset;
    const std::vector<Values> expected = Outputs(InF64(node), shifted, {.reference_only = true});
    for (const std::string& kernel : HostKernelNames(node.op->name)) {
      const std::vector<Values> found = Outputs(node, shifted, {.family = kernel.substr(0, kernel.find('_'))});
      EXPECT_LE(Distance(found[0], expected[0]), 1e-3) << kernel;
      EXPECT_LE(Distance(found[1], expected[1]), 1e-6) << kernel;
    }
  }
}

TEST(DotProductAttention, ALengthThatCannotBeIsRefused) {
  const Sizes sizes{2, 1, 3, 2, 1, 2, 1};
  const LocalNode forward = Forward(DType::kF32, sizes, true, {}), backward = Backward(DType::kF32, sizes, true, {});
  ExpectImpossibleLengthsAreRefused(forward, SuitableInputs(forward, 5), 3);
  ExpectImpossibleLengthsAreRefused(backward, SuitableInputs(backward, 5), 6);
}

}  // namespace
}  // namespace partita
