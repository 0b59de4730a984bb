// What every functor of ops/functors/elementwise.h promises, by the host's kernels.
#include "ops/functors/elementwise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "ops/host/host_kernels.h"
#include "tests/ops/host/kernel_case.h"

namespace partita {
namespace {

const RunOptions& kReference = *new RunOptions{.family = {}, .reference_only = true};

TensorType Of(DType dtype, size_t elements) { return {dtype, {static_cast<int64_t>(elements)}}; }

LocalNode Unary(const std::string& op, DType dtype, size_t elements) {
  return WholeNode(op, {}, {Of(dtype, elements)});
}

LocalNode Binary(const std::string& op, DType dtype, size_t elements) {
  return WholeNode(op, {}, {Of(dtype, elements), Of(dtype, elements)});
}

// One run for each kernel that takes the dtype: the preferred one, and the reference.
template <typename F>
void WithKernels(const F& f) {
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    for (const bool reference : {false, true}) {
      SCOPED_TRACE(testing::Message() << Name(dtype) << (reference ? ", reference" : ", preferred"));
      f(dtype, RunOptions{.reference_only = reference});
    }
  }
}

TEST(Elementwise, OpsAreWhatTheirExamplesSay) {
  ForEachType(UnaryOps(), []<typename F>() {
    SCOPED_TRACE(F::Name());
    Values x, expected;
    for (const auto& [in, out] : F::kExamples) {
      x.push_back(in);
      expected.push_back(out);
    }
    ASSERT_GE(x.size(), 3u);
    WithKernels([&](DType dtype, const RunOptions& options) {
      const Values y = Outputs(Unary(F::Name(), dtype, x.size()), {x}, options)[0];
      const double tolerance = dtype == DType::kF64 ? 1e-14 : 3e-6;  // relative: the argument of an exp is rounded
      for (size_t i = 0; i < x.size(); ++i) {
        EXPECT_NEAR(y[i], expected[i], tolerance * std::abs(expected[i])) << "at " << x[i];
      }
    });
  });
}

Values FiniteNumbers(DType dtype) {
  const double most = dtype == DType::kF64 ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max();
  const double least = dtype == DType::kF64 ? std::numeric_limits<double>::min() : std::numeric_limits<float>::min();
  Values numbers = {0.0, -0.0};
  for (const double magnitude : {least, 1e-8, 1.0, 8.0, 20.0, 90.0, 120.0, 1e4, 1e19, 1e30, most}) {
    numbers.push_back(magnitude);
    numbers.push_back(-magnitude);
  }
  return numbers;
}

TEST(Elementwise, FiniteInputsOfActivationsHaveFiniteResultsAndDerivatives) {
  ForEachType(SmoothOps(), []<typename F>() {
    if (!kIsActivation<F>) return;
    SCOPED_TRACE(F::Name());
    WithKernels([](DType dtype, const RunOptions& options) {
      const Values x = FiniteNumbers(dtype);
      const Values y = Outputs(Unary(F::Name(), dtype, x.size()), {x}, options)[0];
      const Values dx = Outputs(Binary(GradientOf<F>::Name(), dtype, x.size()),
                                {Values(x.size(), 1), F::kGradientReadsResult ? y : x}, options)[0];
      for (size_t i = 0; i < x.size(); ++i) {
        EXPECT_TRUE(std::isfinite(y[i])) << "at " << x[i];
        EXPECT_LE(std::abs(dx[i]), 2) << "at " << x[i];
      }
    });
  });
}

TEST(Elementwise, WhatIsNotANumberGoesThrough) {
  for (const std::string& op : NamesOf(UnaryOps())) {
    SCOPED_TRACE(op);
    WithKernels([&](DType dtype, const RunOptions& options) {
      Values x(40, 1);
      x[20] = std::numeric_limits<double>::quiet_NaN();
      const Values y = Outputs(Unary(op, dtype, x.size()), {x}, options)[0];
      for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(std::isnan(y[i]), i == 20) << "element " << i;
    });
  }
}

Values OfPairs(const std::string& op, const Values& x, const Values& y) {
  return Outputs(Binary(op, DType::kF64, x.size()), {x, y})[0];
}

TEST(Elementwise, OfEqualNumbersEachHasHalfOfTheMaximum) {
  const Values x = {1, 2, 0.0, -3}, y = {2, 1, -0.0, -3};
  EXPECT_EQ(OfPairs("maximum", x, y), (Values{2, 2, 0, -3}));
  EXPECT_EQ(OfPairs("maximum_share", x, y), (Values{0, 1, 0.5, 0.5}));
  EXPECT_EQ(OfPairs("maximum_share", y, x), (Values{1, 0, 0.5, 0.5}));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double value : OfPairs("maximum", {nan, 1}, {1, nan})) EXPECT_TRUE(std::isnan(value));
  EXPECT_EQ(OfPairs("maximum_share", {nan, 1}, {1, nan}), (Values{1, 1}));
}

TEST(Elementwise, ComparisonsAndMasksOfWhatIsNoNumber) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinite = std::numeric_limits<double>::infinity();
  const Values x = {1, 2, 2, nan, 1, infinite}, y = {2, 1, 2, 1, nan, infinite};
  EXPECT_EQ(OfPairs("greater", x, y), (Values{0, 1, 0, 0, 0, 0}));
  EXPECT_EQ(OfPairs("greater_equal", x, y), (Values{0, 1, 1, 0, 0, 1}));
  EXPECT_EQ(OfPairs("masked", {nan, infinite, -infinite, 3, -2}, {0, 0, 1, 0.5, -1}), (Values{0, 0, -infinite, 3, -2}));
}

// Of PyTorch 2.15, which has the same slopes at the bends.
TEST(Elementwise, HardActivationsBendWherePyTorchs) {
  const Values x = {-4, -3, -1.5, 0, 1.5, 3, 5, 6, 7};
  const std::map<std::string, Values> expected = {
      {"relu6", {0, 0, 0, 0, 1, 1, 1, 0, 0}},
      {"hard_sigmoid", {0, 0, 1.0 / 6, 1.0 / 6, 1.0 / 6, 0, 0, 0, 0}},
      {"hard_swish", {0, 0, 0, 0.5, 1, 1, 1, 1, 1}},
  };
  for (const auto& [op, slopes] : expected) {
    const Values y = Outputs(Unary(op, DType::kF64, x.size()), {x})[0];
    const Values& kept = op == "hard_swish" ? x : y;
    const Values dx = Outputs(Binary(op + "_grad", DType::kF64, x.size()), {Values(x.size(), 1), kept})[0];
    for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(dx[i], slopes[i], 1e-15) << op << " at " << x[i];
  }
}

// The kernels have the functors in common: what the loops are compiled for changes no bit.
// The fast kernels of these have functions of their own, which are no further from the exact value than some units of
// the last place.
bool CallsFunctions(const std::string& op) {
  static const std::set<std::string> ops = {"exp",  "gelu",      "gelu_tanh",      "sigmoid",  "silu",
                                            "tanh", "gelu_grad", "gelu_tanh_grad", "silu_grad"};
  return ops.contains(op);
}

TEST(Elementwise, KernelsGiveTheSameBits) {
  constexpr size_t kElements = 10'007;
  const std::vector<Values> inputs = {RandomValues(kElements, 1), RandomValues(kElements, 2)};
  Values positive = inputs[0];
  for (double& x : positive) x = std::abs(x) + 0.5;
  for (const std::string& op : NamesOf(UnaryOps())) {
    if (CallsFunctions(op)) continue;
    const LocalNode node = Unary(op, DType::kF32, kElements);
    const Values& x = op == "log" || op == "log1p" || op == "sqrt" ? positive : inputs[0];
    EXPECT_EQ(Outputs(node, {x}), Outputs(node, {x}, kReference)) << op;
  }
  for (const std::string& op : NamesOf(BinaryOps())) {
    if (CallsFunctions(op)) continue;
    const LocalNode node = Binary(op, DType::kF32, kElements);
    EXPECT_EQ(Outputs(node, inputs), Outputs(node, inputs, kReference)) << op;
  }
}

// From the least to the largest numbers whose results are floats.
Values Grid(const std::string& op) {
  const double least = op == "exp" ? -87.2 : -12, most = op == "exp" ? 88.7 : 40;
  Values x;
  for (int i = 0; i <= 100'000; ++i) x.push_back(static_cast<float>(least + (most - least) * i / 100'000));
  return x;
}

TEST(Elementwise, FastFunctionsAreAsNearToF64AsTheReferences) {
  for (const std::string op : {"exp", "gelu", "gelu_tanh", "sigmoid", "silu", "tanh"}) {
    SCOPED_TRACE(op);
    const Values x = Grid(op);
    const Values exact = Outputs(Unary(op, DType::kF64, x.size()), {x}, kReference)[0];
    const Values fast = Outputs(Unary(op, DType::kF32, x.size()), {x})[0];
    const Values reference = Outputs(Unary(op, DType::kF32, x.size()), {x}, kReference)[0];
    for (size_t i = 0; i < x.size(); ++i) {
      const double allowed = 6e-7 * std::abs(exact[i]) + 1e-36;  // what is no normal number is 0
      ASSERT_LE(std::abs(fast[i] - exact[i]), allowed + 2 * std::abs(reference[i] - exact[i])) << "at " << x[i];
    }
  }
}

TEST(Elementwise, FastDerivativesAreAsNearToF64AsTheReferences) {
  for (const std::string op : {"gelu_grad", "gelu_tanh_grad", "silu_grad"}) {
    SCOPED_TRACE(op);
    const Values x = Grid(op), dy = RandomValues(x.size(), 3);
    const Values exact = Outputs(Binary(op, DType::kF64, x.size()), {dy, x}, kReference)[0];
    const Values fast = Outputs(Binary(op, DType::kF32, x.size()), {dy, x})[0];
    const Values reference = Outputs(Binary(op, DType::kF32, x.size()), {dy, x}, kReference)[0];
    for (size_t i = 0; i < x.size(); ++i) {
      // A derivative that crosses 0 is the sum of two terms of about the size of dy.
      const double allowed = 6e-7 * std::abs(dy[i]);
      ASSERT_LE(std::abs(fast[i] - exact[i]), allowed + 2 * std::abs(reference[i] - exact[i])) << "at " << x[i];
    }
  }
}

}  // namespace
}  // namespace partita
