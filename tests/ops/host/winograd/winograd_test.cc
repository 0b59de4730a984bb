// Winograd's convolutions with every kind of vectors that the machine has and tiles of every size, also those that
// would not be chosen.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "graph/ir/op_definition.h"
#include "ops/host/host_kernels.h"
#include "ops/host/winograd/convolution.h"
#include "runtime/device/host/host_device.h"
#include "runtime/device/host/host_stream.h"
#include "tests/ops/host/kernel_case.h"

namespace partita {
namespace {

using Loops = const WinogradLoops*;

// As of every kernel of a contraction (conformance_test.cc); tiles of 4 x 4 outputs round more.
double ToleranceOf(Loops loops) { return loops->side == 2 ? 5e-6 : 1e-5; }

std::string NameOf(Loops loops) {
  return std::string(loops->name) + " " + std::to_string(loops->side) + " x " + std::to_string(loops->side);
}

// Runs `task` on a stream of so many threads: kernels are prepared for the threads that run them.
absl::Status OnThreads(int threads, std::function<absl::Status()> task) {
  HostDevice device(HostDeviceOptions{.threads = threads});
  ASSIGN_OR_RETURN(const std::unique_ptr<Stream> stream, device.CreateStream("test"));
  const auto call = [](void* self) { return (*static_cast<std::function<absl::Status()>*>(self))(); };
  RETURN_IF_ERROR(dynamic_cast<HostStream&>(*stream).Enqueue({call, &task}));
  return stream->Synchronize();
}

absl::StatusOr<PreparedKernel> PrepareWinograd(const LocalNode& node, Loops loops) {
  if (node.op->name == "conv2d_input_grad") return PrepareWinogradConv2dInputGrad(node, *loops);
  if (node.op->name == "conv2d_weight_grad") return PrepareWinogradConv2dWeightGrad(node, *loops);
  return PrepareWinogradConv2d(node, *loops);
}

Values Winograd(const LocalNode& node, const std::vector<Values>& inputs, Loops loops, const RunOptions& options = {}) {
  absl::StatusOr<PreparedKernel> prepared = absl::UnknownError("not prepared");
  const absl::Status status = OnThreads(options.threads, [&] {
    prepared = PrepareWinograd(node, loops);
    return prepared.status();
  });
  EXPECT_TRUE(status.ok()) << status;
  if (!status.ok()) return {};
  const auto run = [&](const KernelArguments& arguments) {
    return OnThreads(options.threads, [&]() -> absl::Status {
      ASSIGN_OR_RETURN(const Computation compute, prepared->bind(arguments));
      return compute();
    });
  };
  const auto outputs = RunOnBuffers(node, inputs, options, prepared->workspace_bytes, loops->name, run);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return outputs.ok() ? outputs->front() : Values{};
}

Values Exact(const LocalNode& node, const std::vector<Values>& inputs) {
  return Outputs(InF64(node), inputs, {.reference_only = true})[0];
}

// A convolution with its gradients, of the same values.
struct Trio {
  Trio(const Shape& x_shape, int64_t filters, const IntList& padding, uint64_t seed) {
    const TensorType x{DType::kF32, x_shape}, w{DType::kF32, {filters, 3, 3, x_shape[3]}};
    Attributes attributes{{"padding", padding}};
    forward = WholeNode("conv2d", attributes, {x, w});
    const TensorType y{DType::kF32, forward.outputs[0].global};
    attributes.Set("shape", x.shape);
    input_grad = WholeNode("conv2d_input_grad", attributes, {y, w});
    attributes.Set("shape", w.shape);
    weight_grad = WholeNode("conv2d_weight_grad", attributes, {x, y});
    values_x = RandomValues(Elements(x.shape), seed);
    values_w = RandomValues(Elements(w.shape), seed + 1);
    values_dy = RandomValues(Elements(y.shape), seed + 2);
  }

  std::vector<std::pair<LocalNode, std::vector<Values>>> all() const {
    return {{forward, {values_x, values_w}}, {input_grad, {values_dy, values_w}}, {weight_grad, {values_x, values_dy}}};
  }

  LocalNode forward, input_grad, weight_grad;
  Values values_x, values_w, values_dy;
};

// Of any height and width that leaves an output, any padding, channels that are whole vectors and others.
Trio RandomTrio(uint64_t seed, int64_t lanes) {
  std::mt19937_64 engine(seed);
  const auto in = [&](int64_t least, int64_t most) {
    return least + static_cast<int64_t>(engine() % static_cast<uint64_t>(most - least + 1));
  };
  const IntList padding{in(0, 3), in(0, 3), in(0, 3), in(0, 3)};
  const int64_t h = in(std::max<int64_t>(1, 3 - padding[0] - padding[1]), 9);
  const int64_t w = in(std::max<int64_t>(1, 3 - padding[2] - padding[3]), 9);
  return Trio({in(1, 3), h, w, in(lanes, 70)}, in(lanes, 70), padding, seed);
}

TEST(Winograd, IsTheConvolutionOfEverySize) {
  for (const Loops loops : WinogradLoopsOfThisMachine()) {
    for (uint64_t seed = 0; seed < 60; ++seed) {
      for (const auto& [node, inputs] : RandomTrio(seed, loops->lanes).all()) {
        const RunOptions options{.threads = 1 + static_cast<int>(seed % 3), .off_by_one = seed % 2 == 1};
        EXPECT_LE(Distance(Winograd(node, inputs, loops, options), Exact(node, inputs)), ToleranceOf(loops))
            << NameOf(loops) << " " << node.op->name << " seed " << seed;
      }
    }
  }
}

TEST(Winograd, AddsBiasAndReluToWhatItMakes) {
  for (const Loops loops : WinogradLoopsOfThisMachine()) {
    for (const std::string activation : {"relu", ""}) {
      for (const bool bias : {true, false}) {
        const TensorType x{DType::kF32, {2, 5, 7, 24}}, w{DType::kF32, {83, 3, 3, 24}}, b{DType::kF32, {83}};
        const LocalNode node =
            WholeNode("conv2d_epilogue", {{"padding", IntList{1, 1, 1, 1}}, {"activation", activation}},
                      {x, w, bias ? std::optional(b) : std::nullopt});
        std::vector<Values> inputs = SuitableInputs(node, 7);
        EXPECT_LE(Distance(Winograd(node, inputs, loops), Exact(node, inputs)), ToleranceOf(loops)) << NameOf(loops);
        inputs[0][0] = NAN;  // nor does relu hide it
        const Values found = Winograd(node, inputs, loops), exact = Exact(node, inputs);
        for (size_t i = 0; i < exact.size(); ++i) {
          ASSERT_TRUE(std::isnan(found[i]) || !std::isnan(exact[i])) << NameOf(loops) << " " << i;
        }
      }
    }
  }
}

// Of a part of a larger convolution, with rows and columns around it in memory.
TEST(Winograd, WritesThePartAlone) {
  for (const Loops loops : WinogradLoopsOfThisMachine()) {
    const LocalNode whole = Trio({2, 11, 12, 20}, 33, {1, 1, 1, 1}, 5).forward;
    const std::vector<Values> inputs = SuitableInputs(whole, 5);
    LocalNode part = whole;
    part.within = {whole.inputs[0]->box, whole.inputs[1]->box, whole.outputs[0].box};
    Narrow(part.outputs[0], 1, 3, 8);
    Narrow(part.outputs[0], 2, 5, 12);
    Narrow(*part.inputs[0], 1, 2, 9);
    Narrow(*part.inputs[0], 2, 4, 12);
    const Values found = Winograd(part, inputs, loops, {.threads = 2}), y = Exact(whole, inputs);
    for (size_t i = 0; i < found.size(); ++i) {
      const size_t row = i / 33 / 12 % 11, column = i / 33 % 12;
      const bool inside = row >= 3 && row < 8 && column >= 5;
      ASSERT_EQ(std::isnan(found[i]), !inside) << NameOf(loops) << " " << i;
      if (inside) {
        ASSERT_NEAR(found[i], y[i], 1e-4) << NameOf(loops) << " " << i;
      }
    }
  }
}

TEST(Winograd, GivesTheSameBitsOnAnyThreads) {
  for (const Loops loops : WinogradLoopsOfThisMachine()) {
    const int64_t samples = loops->side == 2 ? 5 : 12;  // tiles enough for two bands of a weight gradient
    const Trio parts({5, 29, 31, 40}, 72, {1, 1, 1, 1}, 9), bands({samples, 9, 9, 96}, 72, {1, 1, 1, 1}, 13);
    for (const Trio& trio : {parts, bands}) {
      for (const auto& [node, inputs] : trio.all()) {
        const Values alone = Winograd(node, inputs, loops);
        EXPECT_LE(Distance(alone, Exact(node, inputs)), ToleranceOf(loops)) << NameOf(loops) << " " << node.op->name;
        for (const int threads : {2, 3}) {
          EXPECT_EQ(Winograd(node, inputs, loops, {.threads = threads}), alone) << NameOf(loops) << " " << threads;
        }
      }
    }
  }
}

// Samples, filters and channels of a rank; what each gives of its part has the same bits as in the whole, but a sum
// over channels or samples has another order.
TEST(Winograd, PartsAreThoseOfTheWhole) {
  for (const Loops loops : WinogradLoopsOfThisMachine()) {
    const Trio trio({4, 9, 7, 48}, 64, {1, 1, 1, 1}, 11);
    const Values y = Winograd(trio.forward, {trio.values_x, trio.values_w}, loops);
    for (const auto& [begin, end] : {std::pair<int64_t, int64_t>{0, 1}, {1, 4}}) {  // samples
      LocalNode node = trio.forward;
      Narrow(*node.inputs[0], 0, begin, end);
      Narrow(node.outputs[0], 0, begin, end);
      const Values found = Winograd(node, {Part(trio.values_x, *node.inputs[0]), trio.values_w}, loops);
      EXPECT_EQ(found, Part(y, node.outputs[0])) << NameOf(loops);
    }
    for (const auto& [begin, end] : {std::pair<int64_t, int64_t>{0, 24}, {24, 64}}) {  // filters
      LocalNode node = trio.forward;
      Narrow(*node.inputs[1], 0, begin, end);
      Narrow(node.outputs[0], 3, begin, end);
      const Values found = Winograd(node, {trio.values_x, Part(trio.values_w, *node.inputs[1])}, loops);
      EXPECT_EQ(found, Part(y, node.outputs[0])) << NameOf(loops);
    }
    Values sum(y.size());
    for (const auto& [begin, end] : {std::pair<int64_t, int64_t>{0, 16}, {16, 48}}) {  // channels
      LocalNode node = trio.forward;
      Narrow(*node.inputs[0], 3, begin, end);
      Narrow(*node.inputs[1], 3, begin, end);
      const Values found =
          Winograd(node, {Part(trio.values_x, *node.inputs[0]), Part(trio.values_w, *node.inputs[1])}, loops);
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += found[i];
    }
    EXPECT_LE(Distance(sum, y), ToleranceOf(loops)) << NameOf(loops);
  }
}

double Inner(const Values& a, const Values& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// <conv(x, w), dy> == <x, dx> == <w, dw>
TEST(Winograd, GradientsAreAdjoints) {
  for (const Loops loops : WinogradLoopsOfThisMachine()) {
    for (uint64_t seed = 0; seed < 10; ++seed) {
      const Trio trio = RandomTrio(1000 + seed, loops->lanes);
      const Values y = Winograd(trio.forward, {trio.values_x, trio.values_w}, loops);
      const Values dx = Winograd(trio.input_grad, {trio.values_dy, trio.values_w}, loops);
      const Values dw = Winograd(trio.weight_grad, {trio.values_x, trio.values_dy}, loops);
      const double scale = std::sqrt(Inner(y, y) * Inner(trio.values_dy, trio.values_dy));
      EXPECT_NEAR(Inner(y, trio.values_dy), Inner(trio.values_x, dx), 1e-6 * scale)
          << NameOf(loops) << " seed " << seed;
      EXPECT_NEAR(Inner(y, trio.values_dy), Inner(trio.values_w, dw), 1e-6 * scale)
          << NameOf(loops) << " seed " << seed;
    }
  }
}

double RootMeanSquareError(const Values& found, const Values& exact) {
  double sum = 0;
  for (size_t i = 0; i < found.size(); ++i) sum += (found[i] - exact[i]) * (found[i] - exact[i]);
  return std::sqrt(sum / static_cast<double>(found.size()));
}

// The transforms round too, but where 9 C products were added up there are C. What is positive, as behind a relu, is
// the worst case: the transforms subtract it. Tiles of 4 x 4 outputs round more in them.
TEST(Winograd, RoundsHardlyMoreThanSumsOfAllProductsDo) {
  if (HostKernelNames("conv2d", {.family = "im2col"}).empty()) GTEST_SKIP() << "built without other fast kernels";
  for (const Loops loops : WinogradLoopsOfThisMachine()) {
    for (const bool positive : {false, true}) {
      Trio trio({2, 17, 17, 96}, 64, {1, 1, 1, 1}, 21);
      if (positive) {
        for (double& x : trio.values_x) x = std::abs(x);
      }
      for (auto& [node, inputs] : trio.all()) {
        const Values exact = Exact(node, inputs);
        const double own = RootMeanSquareError(Winograd(node, inputs, loops), exact);
        const double direct = RootMeanSquareError(Outputs(node, inputs, {.family = "im2col"})[0], exact);
        EXPECT_LE(own, (loops->side == 2 ? 2 : 6) * direct)
            << NameOf(loops) << " " << node.op->name << (positive ? " behind a relu" : "");
      }
    }
  }
}

TEST(Winograd, RefusesOtherWindows) {
  const auto said = [](const Shape& w, const IntList& stride, Loops loops) {
    const LocalNode node = WholeNode("conv2d", {{"padding", IntList{1, 1, 1, 1}}, {"stride", stride}},
                                     {TensorType{DType::kF32, {1, 8, 8, w[3]}}, TensorType{DType::kF32, w}});
    return std::string(PrepareWinograd(node, loops).status().message());
  };
  for (const Loops loops : WinogradLoopsOfThisMachine()) {
    EXPECT_EQ(said({16, 3, 1, 16}, {1, 1}, loops), "the window is 3 x 1, allowed is 3 x 3");
    EXPECT_EQ(said({16, 3, 3, 16}, {1, 2}, loops), "strides, dilation or groups are above 1");
    EXPECT_EQ(said({16, 3, 3, 3}, {1, 1}, loops),
              "3 and 16 channels, allowed are " + std::to_string(loops->lanes) + " and more");
  }
}

}  // namespace
}  // namespace partita
