// The steps of an LSTM beside PyTorch's, and lengths that cannot be.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/ops/host/kernel_case.h"
#include "tests/ops/host/pytorch_lstm.h"
#include "tests/ops/host/sequence_claims.h"

namespace partita {
namespace {

using pytorch::kPlaces, pytorch::kSamples, pytorch::kUnits, pytorch::Lstm;
using Types = std::vector<std::optional<TensorType>>;

constexpr double kTolerance = 1e-14;

TensorType F64(Shape shape) { return {DType::kF64, std::move(shape)}; }
std::optional<TensorType> Given(bool given, TensorType type) { return given ? std::optional(type) : std::nullopt; }

// Those that may be absent at the end of both nodes.
Types BeginOf(const Lstm& c) {
  return {Given(!c.h0.empty(), F64({kSamples, c.outputs})), Given(!c.c0.empty(), F64({kSamples, kUnits})),
          Given(!c.lengths.empty(), {DType::kI32, {kSamples}})};
}

LocalNode Forward(const Lstm& c) {
  Types types = {F64({kSamples, kPlaces, 4 * kUnits}), F64({c.outputs, 4 * kUnits}),
                 Given(!c.w_projection.empty(), F64({kUnits, c.outputs}))};
  for (const auto& type : BeginOf(c)) types.push_back(type);
  return WholeNode("lstm_steps", {{"reverse", c.reverse}, {"forget_bias", c.forget_bias}}, types);
}

LocalNode Backward(const Lstm& c) {
  const TensorType h = F64({kSamples, kPlaces, c.outputs}), gates = F64({kSamples, kPlaces, 4 * kUnits});
  Types types = {h, gates, F64({kSamples, kPlaces, kUnits}), h, F64({c.outputs, 4 * kUnits})};
  for (const auto& type : BeginOf(c)) types.push_back(type);
  const bool projected = !c.w_projection.empty();
  if (projected) types.push_back(F64({kUnits, c.outputs}));
  return WholeNode(projected ? "lstm_projected_steps_grad" : "lstm_steps_grad", {{"reverse", c.reverse}}, types);
}

// x^T dy, over all places.
Values Product(const Values& x, const Values& dy) {
  const int64_t rows = kSamples * kPlaces;
  const int64_t m = static_cast<int64_t>(x.size()) / rows, n = static_cast<int64_t>(dy.size()) / rows;
  const LocalNode node = WholeNode("matmul", {{"transpose_x", true}}, {F64({rows, m}), F64({rows, n})});
  return Outputs(node, {x, dy}, {.reference_only = true})[0];
}

TEST(Lstm, IsThatOfPyTorch) {
  for (const Lstm& c : pytorch::AllLstms()) {
    const std::vector<Values> y =
        Outputs(Forward(c), {c.g, c.w_h, c.w_projection, c.h0, c.c0, c.lengths}, {.reference_only = true});
    EXPECT_LE(Distance(y[0], c.h), kTolerance);
    EXPECT_LE(Distance(y[3], c.last_h), kTolerance);
    EXPECT_LE(Distance(y[4], c.last_c), kTolerance);
    std::vector<Values> inputs = {c.dh, y[1], y[2], y[0], c.w_h, c.h0, c.c0, c.lengths};
    if (!c.w_projection.empty()) inputs.push_back(c.w_projection);
    const std::vector<Values> back = Outputs(Backward(c), inputs, {.reference_only = true});
    EXPECT_LE(Distance(back[0], c.dg), kTolerance);
    EXPECT_LE(Distance(Product(back[1], back[0]), c.dw_h), kTolerance);
    if (!c.h0.empty()) {
      EXPECT_LE(Distance(back[2], c.dh0), kTolerance);
    }
    if (!c.c0.empty()) {
      EXPECT_LE(Distance(back[3], c.dc0), kTolerance);
    }
    if (!c.w_projection.empty()) {
      EXPECT_LE(Distance(Product(back[5], back[4]), c.dw_projection), kTolerance);
    }
  }
}

// So large that threads share the units, with more samples than go through a panel together.
TEST(Lstm, IsTheSameOnSeveralThreads) {
  const auto f32 = [](Shape shape) { return TensorType{DType::kF32, std::move(shape)}; };
  const TensorType g = f32({37, 4, 4 * 131}), c = f32({37, 4, 131}), state = f32({37, 131}), c0 = f32({37, 131});
  const TensorType lengths{DType::kI32, {37}}, w = f32({131, 4 * 131}), projection = f32({131, 131});
  const std::vector<LocalNode> nodes = {
      WholeNode("lstm_steps", {{"reverse", true}}, {g, w, std::nullopt, state, c0, lengths}),
      WholeNode("lstm_steps", {}, {g, w, projection, state, c0, lengths}),
      WholeNode("lstm_steps_grad", {}, {c, g, c, c, w, state, c0, lengths}),
      WholeNode("lstm_projected_steps_grad", {{"reverse", true}}, {c, g, c, c, w, state, c0, lengths, projection})};
  for (const LocalNode& node : nodes) ExpectTheSameOnSeveralThreads(node);
}

// As networks compute that have hardly been trained: what is near 0 has as many right digits as anything else.
TEST(Lstm, SmallNumbersKeepTheirDigits) {
  const TensorType g{DType::kF32, {3, 2, 4 * 5}}, w{DType::kF32, {5, 4 * 5}};
  const LocalNode node = WholeNode("lstm_steps", {}, {g, w, std::nullopt, std::nullopt, std::nullopt, std::nullopt});
  std::vector<Values> inputs = SuitableInputs(node, 4);
  for (double& x : inputs[0]) x = static_cast<float>(x * 1e-3);
  const Values h = Outputs(node, inputs)[0], exact = Outputs(InF64(node), inputs, {.reference_only = true})[0];
  for (size_t i = 0; i < h.size(); ++i) EXPECT_LE(std::abs(h[i] / exact[i] - 1), 1e-6) << i;
}

TEST(Lstm, ALengthThatCannotBeIsRefused) {
  const LocalNode node = WholeNode("lstm_steps", {},
                                   {TensorType{DType::kF32, {2, 3, 4}}, TensorType{DType::kF32, {1, 4}}, std::nullopt,
                                    std::nullopt, std::nullopt, TensorType{DType::kI32, {2}}});
  ExpectImpossibleLengthsAreRefused(node, {Values(24), Values(4), {}, {}, {}, {}}, 5);
}

}  // namespace
}  // namespace partita
