// Attention beside PyTorch's, at sizes that threads share, and with lengths that cannot be.
#include <gtest/gtest.h>

#include <string>

#include "ops/host/host_kernels.h"
#include "tests/ops/host/kernel_case.h"
#include "tests/ops/host/pytorch_attention.h"
#include "tests/ops/host/sequence_claims.h"

namespace partita {
namespace {

using Types = std::vector<std::optional<TensorType>>;

constexpr double kTolerance = 1e-14;

struct Sizes {
  int64_t samples, queries, places, units, channels;
};

// query, keys, values, v, gain and bias.
Types InputsOf(DType dtype, const Sizes& s) {
  const auto type = [dtype](Shape shape) { return TensorType{dtype, std::move(shape)}; };
  return {type({s.samples, s.queries, s.units}),
          type({s.samples, s.places, s.units}),
          type({s.samples, s.places, s.channels}),
          type({s.units}),
          type({1}),
          type({s.units})};
}

LocalNode Forward(DType dtype, const Sizes& s, bool has_lengths) {
  Types types = InputsOf(dtype, s);
  types.push_back(has_lengths ? std::optional(TensorType{DType::kI32, {s.samples}}) : std::nullopt);
  return WholeNode("attention_context", {}, types);
}

LocalNode Backward(DType dtype, const Sizes& s) {
  Types types = {TensorType{dtype, {s.samples, s.queries, s.channels}},
                 TensorType{dtype, {s.samples, s.queries, s.places}}};
  for (const auto& type : InputsOf(dtype, s)) types.push_back(type);
  return WholeNode("attention_context_grad", {}, types);
}

TEST(Attention, IsThatOfPyTorch) {
  using namespace pytorch;
  const Sizes sizes{kAttendingSamples, kQueries, kKeys, kScorerUnits, kChannels};
  for (const pytorch::Attention& c : AllAttentions()) {
    const std::vector<Values> y =
        Outputs(Forward(DType::kF64, sizes, !c.lengths.empty()),
                {c.query, c.keys, c.values, c.v, c.gain, c.bias, c.lengths}, {.reference_only = true});
    EXPECT_LE(Distance(y[0], c.context), kTolerance);
    EXPECT_LE(Distance(y[1], c.probabilities), kTolerance);
    const std::vector<Values> back =
        Outputs(Backward(DType::kF64, sizes), {c.dcontext, y[1], c.query, c.keys, c.values, c.v, c.gain, c.bias},
                {.reference_only = true});
    const std::vector<Values> expected = {c.dquery, c.dkeys, c.dvalues, c.dv, c.dgain, c.dbias};
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_LE(Distance(back[i], expected[i]), kTolerance) << i;
  }
}

// So large that threads share queries, places and units.
TEST(Attention, IsTheSameOnSeveralThreads) {
  const Sizes sizes{7, 9, 12, 131, 130};
  ExpectTheSameOnSeveralThreads(Forward(DType::kF32, sizes, true));
  ExpectTheSameOnSeveralThreads(Backward(DType::kF32, sizes));
}

// What lies behind a sequence's end is not read, whatever it is; of a sequence without places the context is 0.
TEST(Attention, ReadsNoPlaceBehindTheEnd) {
  const Sizes sizes{3, 2, 4, 5, 3};
  const LocalNode node = Forward(DType::kF32, sizes, true);
  std::vector<Values> inputs = SuitableInputs(node, 5);
  inputs[6] = {4, 0, 1};
  const auto spoilt = [&](Values values, int64_t width) {
    for (int64_t n = 0; n < sizes.samples; ++n) {
      for (int64_t i = static_cast<int64_t>(inputs[6][n]) * width; i < sizes.places * width; ++i) {
        values[n * sizes.places * width + i] = 1e30;
      }
    }
    return values;
  };
  std::vector<Values> other = inputs;
  other[1] = spoilt(inputs[1], sizes.units);
  other[2] = spoilt(inputs[2], sizes.channels);
  for (const std::string& kernel : HostKernelNames("attention_context")) {
    const RunOptions options{.family = kernel.substr(0, kernel.find('_'))};
    const std::vector<Values> y = Outputs(node, inputs, options);
    EXPECT_EQ(Outputs(node, other, options), y) << kernel;
    EXPECT_EQ(Values(y[0].begin() + 6, y[0].begin() + 12), Values(6, 0)) << kernel;
    EXPECT_EQ(Values(y[1].begin() + 8, y[1].begin() + 16), Values(8, 0)) << kernel;
    EXPECT_EQ(Values(y[1].begin() + 16, y[1].begin() + 20), (Values{1, 0, 0, 0})) << kernel;
  }
}

TEST(Attention, ALengthThatCannotBeIsRefused) {
  const LocalNode node = Forward(DType::kF32, {2, 1, 3, 2, 1}, true);
  ExpectImpossibleLengthsAreRefused(node, SuitableInputs(node, 5), 6);
}

}  // namespace
}  // namespace partita
