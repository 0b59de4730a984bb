// Winograd's convolutions along lines with every kind of vectors that the machine has, also those that would not be
// chosen.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "graph/ir/op_definition.h"
#include "ops/host/host_kernels.h"
#include "ops/host/winograd/line_convolution.h"
#include "tests/ops/host/kernel_case.h"
#include "tests/ops/host/winograd/trio.h"

namespace partita {
namespace {

using Loops = const LineLoops*;

// Twice that of every kernel of a contraction (conformance_test.cc): six points round more than four.
constexpr double kTolerance = 1e-5;

absl::StatusOr<PreparedKernel> Prepare(const LocalNode& node, Loops loops) {
  if (node.op->name == "conv2d_input_grad") return PrepareLineConv2dInputGrad(node, *loops);
  if (node.op->name == "conv2d_weight_grad") return PrepareLineConv2dWeightGrad(node, *loops);
  return PrepareLineConv2d(node, *loops);
}

Values Lines(const LocalNode& node, const std::vector<Values>& inputs, Loops loops, const RunOptions& options = {}) {
  return RunPrepared(node, inputs, options, loops->name, [&] { return Prepare(node, loops); });
}

// Of any window with two taps or more, any height and width that leaves an output, any padding; channels that are whole
// vectors and others.
Trio RandomTrio(uint64_t seed, int64_t lanes) {
  std::mt19937_64 engine(seed);
  const auto in = [&](int64_t least, int64_t most) {
    return least + static_cast<int64_t>(engine() % static_cast<uint64_t>(most - least + 1));
  };
  const int64_t along = in(2, 8), beside = in(0, 1) == 0 ? 1 : in(1, along);
  const int64_t kernel_h = seed % 2 == 0 ? along : beside, kernel_w = seed % 2 == 0 ? beside : along;
  const IntList padding{in(0, 3), in(0, 3), in(0, 3), in(0, 3)};
  const int64_t h = in(std::max<int64_t>(1, kernel_h - padding[0] - padding[1]), 11);
  const int64_t w = in(std::max<int64_t>(1, kernel_w - padding[2] - padding[3]), 11);
  return Trio({in(1, 3), h, w, in(lanes, 70)}, in(lanes, 70), kernel_h, kernel_w, padding, seed);
}

TEST(Lines, AreTheConvolutionOfEverySize) {
  for (const Loops loops : LineLoopsOfThisMachine()) {
    for (uint64_t seed = 0; seed < 60; ++seed) {
      for (const auto& [node, inputs] : RandomTrio(seed, loops->lanes).all()) {
        const RunOptions options{.threads = 1 + static_cast<int>(seed / 2 % 3), .off_by_one = seed % 4 < 2};
        EXPECT_LE(Distance(Lines(node, inputs, loops, options), ExactOutput(node, inputs)), kTolerance)
            << loops->name << " " << node.op->name << " seed " << seed;
      }
    }
  }
}

TEST(Lines, AddBiasAndReluToWhatTheyMake) {
  for (const Loops loops : LineLoopsOfThisMachine()) {
    for (const std::string activation : {"relu", ""}) {
      for (const bool bias : {true, false}) {
        const TensorType x{DType::kF32, {2, 5, 7, 24}}, w{DType::kF32, {83, 1, 7, 24}}, b{DType::kF32, {83}};
        const LocalNode node =
            WholeNode("conv2d_epilogue", {{"padding", IntList{0, 0, 3, 3}}, {"activation", activation}},
                      {x, w, bias ? std::optional(b) : std::nullopt});
        std::vector<Values> inputs = SuitableInputs(node, 7);
        EXPECT_LE(Distance(Lines(node, inputs, loops), ExactOutput(node, inputs)), kTolerance) << loops->name;
        inputs[0][0] = NAN;  // nor does relu hide it
        const Values found = Lines(node, inputs, loops), exact = ExactOutput(node, inputs);
        for (size_t i = 0; i < exact.size(); ++i) {
          ASSERT_TRUE(std::isnan(found[i]) || !std::isnan(exact[i])) << loops->name << " " << i;
        }
      }
    }
  }
}

// Of a part of a larger convolution, with rows and columns around it in memory.
TEST(Lines, WriteThePartAlone) {
  for (const Loops loops : LineLoopsOfThisMachine()) {
    for (const auto& [kernel_h, kernel_w] : {std::pair<int64_t, int64_t>{1, 5}, {5, 1}, {3, 5}}) {
      const int64_t around_h = kernel_h / 2, around_w = kernel_w / 2;
      const IntList padding{around_h, around_h, around_w, around_w};
      const LocalNode whole = Trio({2, 11, 12, 20}, 33, kernel_h, kernel_w, padding, 5).forward;
      const std::vector<Values> inputs = SuitableInputs(whole, 5);
      LocalNode part = whole;
      part.within = {whole.inputs[0]->box, whole.inputs[1]->box, whole.outputs[0].box};
      Narrow(part.outputs[0], 1, 3, 8);
      Narrow(part.outputs[0], 2, 5, 12);
      Narrow(*part.inputs[0], 1, 3 - around_h, 8 + around_h);
      Narrow(*part.inputs[0], 2, 5 - around_w, 12);
      const Values found = Lines(part, inputs, loops, {.threads = 2}), y = ExactOutput(whole, inputs);
      for (size_t i = 0; i < found.size(); ++i) {
        const size_t row = i / 33 / 12 % 11, column = i / 33 % 12;
        const bool inside = row >= 3 && row < 8 && column >= 5;
        ASSERT_EQ(std::isnan(found[i]), !inside) << loops->name << " " << i;
        if (inside) {
          ASSERT_NEAR(found[i], y[i], 1e-4) << loops->name << " " << i;
        }
      }
    }
  }
}

// Weight gradients of one part, of two and of many, in one band and in several, alone and beside other lines.
TEST(Lines, GiveTheSameBitsOnAnyThreads) {
  for (const Loops loops : LineLoopsOfThisMachine()) {
    const Trio trios[] = {
        Trio({4, 17, 17, 160}, 192, 1, 7, {0, 0, 3, 3}, 9), Trio({3, 29, 31, 40}, 72, 5, 5, {2, 2, 2, 2}, 10),
        Trio({1, 8, 9, 300}, 300, 3, 1, {1, 1, 0, 0}, 11), Trio({2, 61, 40, 32}, 32, 7, 1, {3, 3, 0, 0}, 12)};
    for (const Trio& trio : trios) {
      for (const auto& [node, inputs] : trio.all()) {
        const Values alone = Lines(node, inputs, loops);
        const double direct = Distance(Outputs(node, inputs)[0], alone);
        EXPECT_LE(direct, 2 * kTolerance) << loops->name << " " << node.op->name;
        for (const int threads : {2, 3}) {
          EXPECT_EQ(Lines(node, inputs, loops, {.threads = threads}), alone) << loops->name << " " << threads;
        }
      }
    }
  }
}

// Samples and filters of a rank: what each gives of its part has the same bits as in the whole.
TEST(Lines, PartsAreThoseOfTheWhole) {
  for (const Loops loops : LineLoopsOfThisMachine()) {
    for (const auto& [kernel_h, kernel_w] : {std::pair<int64_t, int64_t>{7, 1}, {5, 5}}) {
      const Trio trio({4, 9, 7, 48}, 64, kernel_h, kernel_w, {3, 3, 2, 2}, 11);
      const Values y = Lines(trio.forward, {trio.values_x, trio.values_w}, loops);
      for (const auto& [begin, end] : {std::pair<int64_t, int64_t>{0, 1}, {1, 4}}) {  // samples
        LocalNode node = trio.forward;
        Narrow(*node.inputs[0], 0, begin, end);
        Narrow(node.outputs[0], 0, begin, end);
        const Values found = Lines(node, {Part(trio.values_x, *node.inputs[0]), trio.values_w}, loops);
        EXPECT_EQ(found, Part(y, node.outputs[0])) << loops->name;
      }
      for (const auto& [begin, end] : {std::pair<int64_t, int64_t>{0, 24}, {24, 64}}) {  // filters
        LocalNode node = trio.forward;
        Narrow(*node.inputs[1], 0, begin, end);
        Narrow(node.outputs[0], 3, begin, end);
        const Values found = Lines(node, {trio.values_x, Part(trio.values_w, *node.inputs[1])}, loops);
        EXPECT_EQ(found, Part(y, node.outputs[0])) << loops->name;
      }
    }
  }
}

// <conv(x, w), dy> == <x, dx> == <w, dw>
TEST(Lines, GradientsAreAdjoints) {
  for (const Loops loops : LineLoopsOfThisMachine()) {
    for (uint64_t seed = 0; seed < 10; ++seed) {
      const Trio trio = RandomTrio(1000 + seed, loops->lanes);
      const Values y = Lines(trio.forward, {trio.values_x, trio.values_w}, loops);
      const Values dx = Lines(trio.input_grad, {trio.values_dy, trio.values_w}, loops);
      const Values dw = Lines(trio.weight_grad, {trio.values_x, trio.values_dy}, loops);
      const double scale = std::sqrt(Inner(y, y) * Inner(trio.values_dy, trio.values_dy));
      EXPECT_NEAR(Inner(y, trio.values_dy), Inner(trio.values_x, dx), 1e-6 * scale) << loops->name << " seed " << seed;
      EXPECT_NEAR(Inner(y, trio.values_dy), Inner(trio.values_w, dw), 1e-6 * scale) << loops->name << " seed " << seed;
    }
  }
}

// As of tiles (winograd_test.cc), but the transforms of six points round more than those of four.
TEST(Lines, RoundLittleMoreThanSumsOfAllProductsDo) {
  if (HostKernelNames("conv2d", {.family = "im2col"}).empty()) GTEST_SKIP() << "built without other fast kernels";
  for (const Loops loops : LineLoopsOfThisMachine()) {
    for (const bool positive : {false, true}) {
      for (const auto& [kernel_h, kernel_w] : {std::pair<int64_t, int64_t>{1, 7}, {3, 1}, {5, 5}}) {
        Trio trio({2, 17, 17, 96}, 64, kernel_h, kernel_w, {kernel_h / 2, kernel_h / 2, kernel_w / 2, kernel_w / 2},
                  21);
        if (positive) {
          for (double& x : trio.values_x) x = std::abs(x);
        }
        for (auto& [node, inputs] : trio.all()) {
          const Values exact = ExactOutput(node, inputs);
          const double own = RootMeanSquareError(Lines(node, inputs, loops), exact);
          const double direct = RootMeanSquareError(Outputs(node, inputs, {.family = "im2col"})[0], exact);
          EXPECT_LE(own, 3 * direct) << loops->name << " " << node.op->name << " " << kernel_h << " x " << kernel_w
                                     << (positive ? " behind a relu" : "") << ": " << own << " and " << direct;
        }
      }
    }
  }
}

TEST(Lines, RefuseOtherWindowsAndStrides) {
  const auto said = [](const Shape& w, const IntList& stride, Loops loops) {
    const LocalNode node = WholeNode("conv2d", {{"padding", IntList{1, 1, 1, 1}}, {"stride", stride}},
                                     {TensorType{DType::kF32, {1, 8, 8, w[3]}}, TensorType{DType::kF32, w}});
    return std::string(Prepare(node, loops).status().message());
  };
  for (const Loops loops : LineLoopsOfThisMachine()) {
    EXPECT_EQ(said({16, 1, 1, 16}, {1, 1}, loops), "the window is 1 x 1");
    EXPECT_EQ(said({16, 1, 3, 16}, {1, 2}, loops), "strides, dilation or groups are above 1");
    EXPECT_EQ(said({16, 1, 3, 3}, {1, 1}, loops),
              "3 and 16 channels, allowed are " + std::to_string(loops->lanes) + " and more");
  }
}

// Which of the shipped models' they are for.
TEST(Lines, AreWorthwhileWhereTheyWereFaster) {
  const auto said = [](const Shape& x, int64_t filters, int64_t kernel_h, int64_t kernel_w) {
    std::string kernels;
    const Trio trio(x, filters, kernel_h, kernel_w, {kernel_h / 2, kernel_h / 2, kernel_w / 2, kernel_w / 2}, 1);
    for (const auto& [node, inputs] : trio.all()) {
      kernels += HostKernels().Choose(node)->kernel.rfind("winograd", 0) == 0 ? "w" : "-";
    }
    return kernels;
  };
  if (LineLoopsOfThisMachine().empty()) GTEST_SKIP() << "no vectors";
  EXPECT_EQ(said({4, 17, 17, 192}, 192, 1, 7), "www");
  EXPECT_EQ(said({4, 17, 17, 160}, 192, 7, 1), "www");
  EXPECT_EQ(said({4, 35, 35, 48}, 64, 5, 5), "www");
  EXPECT_EQ(said({4, 8, 8, 384}, 384, 3, 1), "www");
  EXPECT_EQ(said({1, 8, 8, 384}, 384, 3, 1), "---");   // tiles
  EXPECT_EQ(said({64, 14, 14, 16}, 32, 5, 5), "---");  // channels
  EXPECT_EQ(said({64, 5, 5, 64}, 64, 1, 7), "---");    // columns
}

}  // namespace
}  // namespace partita
