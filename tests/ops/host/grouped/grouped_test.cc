// Convolutions with groups and their gradients with every kind of vectors that the machine has.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "graph/ir/op_definition.h"
#include "ops/host/grouped/convolution.h"
#include "ops/host/grouped/loops.h"
#include "ops/host/host_kernels.h"
#include "tests/ops/host/kernel_case.h"
#include "tests/ops/host/winograd/trio.h"

namespace partita {
namespace {

size_t KindsOfVectors() { return GroupLoopsOfThisMachine<float>().size(); }

absl::StatusOr<PreparedKernel> Prepare(const LocalNode& node, size_t vectors) {
  if (node.op->name == "conv2d_input_grad") return PrepareGroupedConv2dInputGrad(node, vectors);
  if (node.op->name == "conv2d_weight_grad") return PrepareGroupedConv2dWeightGrad(node, vectors);
  return PrepareGroupedConv2d(node, vectors);
}

Values RunOn(const LocalNode& node, const std::vector<Values>& inputs, size_t vectors, const RunOptions& options = {}) {
  const char* const name = GroupLoopsOfThisMachine<float>()[vectors]->name;
  return RunPrepared(node, inputs, options, name, [&] { return Prepare(node, vectors); });
}

// Any window, stride, dilation and padding, also one that is wider than the window; channels that are whole vectors and
// others. Of groups of several channels windows that loops exist for, more often than others.
Trio RandomTrio(uint64_t seed, int64_t depth) {
  std::mt19937_64 engine(seed);
  const auto in = [&](int64_t least, int64_t most) {
    return least + static_cast<int64_t>(engine() % static_cast<uint64_t>(most - least + 1));
  };
  const bool common = depth > 1 && seed % 4 > 0;
  const IntList padding{in(0, 4), in(0, 4), in(0, 4), in(0, 4)}, stride{in(1, 3), common ? in(1, 2) : in(1, 3)};
  const IntList dilation{in(1, 2), common ? 1 : in(1, 2)};
  const int64_t kernel_h = in(1, 7), kernel_w = common ? 3 : in(1, 9), groups = in(2, depth == 1 ? 70 : 12);
  const int64_t extent_h = dilation[0] * (kernel_h - 1) + 1, extent_w = dilation[1] * (kernel_w - 1) + 1;
  const int64_t h = in(std::max<int64_t>(1, extent_h - padding[0] - padding[1]), 20);
  const int64_t w = in(std::max<int64_t>(1, extent_w - padding[2] - padding[3]), 25);
  return Trio({in(1, 3), h, w, groups * depth}, {groups * depth, kernel_h, kernel_w, depth},
              {{"padding", padding}, {"stride", stride}, {"dilation", dilation}, {"groups", groups}}, seed);
}

class Grouped : public testing::TestWithParam<int64_t> {};

TEST_P(Grouped, IsTheConvolutionOfEverySize) {
  int ran = 0, tried = 0;
  for (size_t vectors = 0; vectors < KindsOfVectors(); ++vectors) {
    for (uint64_t seed = 0; seed < 150; ++seed) {
      for (const auto& [f32, inputs] : RandomTrio(seed, GetParam()).all()) {
        const RunOptions options{.threads = 1 + static_cast<int>(seed % 3), .off_by_one = seed % 2 == 1};
        for (const LocalNode& node : {f32, InF64(f32), InBf16(f32)}) {
          ++tried;
          if (GetParam() > 1 && absl::IsInvalidArgument(Prepare(node, vectors).status())) continue;
          const DType dtype = node.outputs[0].dtype;
          const double tolerance = dtype == DType::kF64 ? 1e-13 : dtype == DType::kF32 ? 5e-6 : 0x1p-8 + 5e-6;
          EXPECT_LE(Distance(RunOn(node, inputs, vectors, options), ExactOutput(f32, Stored(node, inputs))), tolerance)
              << vectors << " " << node.op->name << " " << Name(dtype) << " seed " << seed;
          ++ran;
        }
      }
    }
  }
  EXPECT_GE(ran, tried / 5);
}

INSTANTIATE_TEST_SUITE_P(Channels, Grouped, testing::Values(1, 4, 8));

TEST(GroupedKernels, AddsBiasAndReluToWhatItMakes) {
  for (size_t vectors = 0; vectors < KindsOfVectors(); ++vectors) {
    for (const std::string activation : {"relu", ""}) {
      for (const bool bias : {true, false}) {
        const TensorType x{DType::kF32, {2, 6, 13, 21}}, w{DType::kF32, {21, 3, 3, 1}}, b{DType::kF32, {21}};
        const LocalNode node = WholeNode(
            "conv2d_epilogue", {{"padding", IntList{1, 1, 1, 1}}, {"groups", int64_t{21}}, {"activation", activation}},
            {x, w, bias ? std::optional(b) : std::nullopt});
        std::vector<Values> inputs = SuitableInputs(node, 7);
        EXPECT_LE(Distance(RunOn(node, inputs, vectors), ExactOutput(node, inputs)), 5e-6) << vectors;
        inputs[0][100] = NAN;  // nor does relu hide it
        const Values found = RunOn(node, inputs, vectors), exact = ExactOutput(node, inputs);
        const Values narrow = RunOn(InBf16(node), inputs, vectors);
        for (size_t i = 0; i < exact.size(); ++i) {
          ASSERT_EQ(std::isnan(found[i]), std::isnan(exact[i])) << i;
          ASSERT_EQ(std::isnan(narrow[i]), std::isnan(exact[i])) << i;
        }
      }
    }
  }
}

// Sums are cut by sizes alone.
TEST(GroupedKernels, HasTheSameBitsOnAnyNumberOfThreads) {
  const Trio trio({5, 40, 31, 40}, {40, 5, 5, 1}, {{"padding", IntList{2, 2, 2, 2}}, {"groups", int64_t{40}}}, 3);
  for (const auto& [node, inputs] : trio.all()) {
    const Values alone = RunOn(node, inputs, 0);
    for (const int threads : {2, 3, 7}) EXPECT_EQ(RunOn(node, inputs, 0, {.threads = threads}), alone);
  }
}

TEST(GroupedKernels, RefuseWhatTheyCannotCompute) {
  const auto message = [](const Trio& trio) {
    const absl::StatusOr<PreparedKernel> prepared = Prepare(trio.forward, 0);
    return prepared.ok() ? std::string() : std::string(prepared.status().message());
  };
  EXPECT_EQ(message(Trio({1, 4, 4, 6}, {6, 3, 3, 2}, {{"groups", int64_t{3}}}, 1)),
            "3 groups have 2 input and 2 output channels, allowed are several of 1, 4 or 8 of each");
  EXPECT_EQ(message(Trio({1, 4, 4, 3}, {6, 3, 3, 1}, {{"groups", int64_t{3}}}, 1)),
            "3 groups have 1 input and 2 output channels, allowed are several of 1, 4 or 8 of each");
  EXPECT_EQ(message(Trio({1, 40, 4, 3}, {3, 33, 3, 1}, {{"groups", int64_t{3}}}, 1)),
            "a window has 33 rows, allowed are at most 32");
  EXPECT_EQ(message(Trio({1, 8, 9, 64}, {64, 3, 6, 4}, {{"groups", int64_t{16}}}, 1)),
            "there are no loops for f32 in these vectors and this window");
}

}  // namespace
}  // namespace partita
