// How often kernels are run to be timed, by a clock that the kernels themselves advance; and what a signature tells.
#include "ops/host/timing/form_timer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/host/timing/convolution_signature.h"
#include "tests/ops/host/kernel_case.h"

namespace partita {
namespace {

LocalNode Convolution(const Shape& x, const std::string& op = "conv2d") {
  const Attributes attributes{{"stride", IntList{1, 1}}, {"padding", IntList{1, 1, 1, 1}}};
  return WholeNode(op, attributes, {TensorType{DType::kF32, x}, TensorType{DType::kF32, {16, 3, 3, x[3]}}});
}

class Timing : public testing::Test {
 protected:
  // A form whose runs take these times, the last one ever after.
  Form Taking(const std::string& name, std::vector<double> seconds) {
    return {name, Prepared([this, name, seconds](const KernelArguments& a) {
              EXPECT_NE(a.inputs[0], nullptr);
              EXPECT_NE(a.workspace, nullptr);
              const size_t run = static_cast<size_t>(runs_[name]++);
              now_ += seconds[std::min(run, seconds.size() - 1)];
            })};
  }
  absl::StatusOr<std::vector<double>> Time(const std::vector<Form>& forms) {
    return TimeForms(Convolution({1, 4, 4, 8}), forms, 1, [this] { return now_; });
  }

  double now_ = 100;
  std::map<std::string, int> runs_;
};

TEST_F(Timing, TakesTheLeastOfAFewRuns) {
  const auto seconds = Time({Taking("a", {0.5 / 64, 0.25 / 64, 0.375 / 64, 0.375 / 64, 0.375 / 64, 0.125 / 64})});
  ASSERT_TRUE(seconds.ok()) << seconds.status();
  EXPECT_EQ(*seconds, (std::vector<double>{0.25 / 64}));
  EXPECT_EQ(runs_["a"], kEnoughRuns);
}

// What disturbs the machine for a millisecond does not decide between forms that take less.
TEST_F(Timing, RunsShortFormsOften) {
  const auto seconds = Time({Taking("a", {1.0 / 4096, 1.0 / 4096, 1.0 / 4096, 0.5 / 4096}), Taking("b", {1.0 / 1024})});
  ASSERT_TRUE(seconds.ok()) << seconds.status();
  EXPECT_EQ(*seconds, (std::vector<double>{0.5 / 4096, 1.0 / 1024}));
  EXPECT_EQ(runs_["a"], kMostRuns);
  EXPECT_EQ(runs_["b"], 1) << "is hopeless at once";
}

TEST_F(Timing, RunsASlowFormOnceOrTwice) {
  const auto seconds = Time({Taking("a", {0.25}), Taking("b", {1.0 / 1024}), Taking("c", {2.0 / 1024}),
                             Taking("d", {1.25 / 1024}), Taking("e", {2.0 / 1024, 1.0 / 1024})});
  ASSERT_TRUE(seconds.ok()) << seconds.status();
  EXPECT_EQ(*seconds, (std::vector<double>{0.25, 1.0 / 1024, 2.0 / 1024, 1.25 / 1024, 1.0 / 1024}));
  EXPECT_EQ(runs_["a"], 1) << "takes longer than all runs may";
  EXPECT_EQ(runs_["b"], 11) << "until kShortSeconds are over";
  EXPECT_EQ(runs_["c"], 2) << "is hopeless";
  EXPECT_EQ(runs_["d"], 9);
  EXPECT_EQ(runs_["e"], 10) << "was disturbed the first time";
}

// It may have been disturbed when it was run first.
TEST_F(Timing, TheFirstFormHasAllItsRuns) {
  const auto seconds = Time({Taking("rule", {4.0 / 1024, 4.0 / 1024, 1.0 / 1024}), Taking("b", {2.0 / 1024})});
  ASSERT_TRUE(seconds.ok()) << seconds.status();
  EXPECT_EQ(*seconds, (std::vector<double>{1.0 / 1024, 2.0 / 1024}));
  EXPECT_EQ(runs_["rule"], 5);
  EXPECT_EQ(runs_["b"], 3);
}

TEST_F(Timing, AFormThatFailsIsAnError) {
  const Form bad{"bad", Prepared([](const KernelArguments&) { return absl::InternalError("no such luck"); })};
  EXPECT_EQ(Time({Taking("a", {1}), bad}).status(), absl::InternalError("no such luck"));
}

TEST_F(Timing, MemoryThatIsNotThereIsAnError) {
  Form large = Taking("a", {1});
  large.prepared.workspace_bytes = int64_t{1} << 60;
  EXPECT_EQ(Time({large}).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(TimerOnThreads, TimesKernels) {
  const LocalNode node = Convolution({1, 4, 4, 8});
  const Form form{"count", Prepared([](const KernelArguments& a) {
                    for (int i = 0; i < 256; ++i) Out<float>(a, 0)[i] = std::sqrt(In<float>(a, 0)[i % 128]);
                  })};
  const auto seconds = TimerOnThreads(2)(node, std::vector<Form>{form, form});
  ASSERT_TRUE(seconds.ok()) << seconds.status();
  ASSERT_EQ(seconds->size(), 2u);
  for (const double s : *seconds) EXPECT_GE(s, 0);
}

TEST(ConvolutionSignature, TellsWhatIsComputedDifferently) {
  LocalNode node = Convolution({4, 8, 8, 16});
  EXPECT_EQ(ConvolutionSignature(node),
            "conv2d f32 4x8x8x16 to 8x8x16 window 3x3 stride 1x1 dilation 1x1 padding 1,1,1,1 groups 1");
  LocalNode renamed = node;
  renamed.name = "another";
  EXPECT_EQ(ConvolutionSignature(renamed), ConvolutionSignature(node));
  EXPECT_EQ(ConvolutionSignature(InF64(node)), std::nullopt);
  EXPECT_EQ(ConvolutionSignature(InBf16(node)), std::nullopt);
  EXPECT_EQ(ConvolutionSignature(WholeNode("relu", {}, {TensorType{DType::kF32, {4, 8}}})), std::nullopt);
  // The first two samples of a rank are as the last two of another; its upper rows have padding above them alone.
  const auto part = [&](int dimension, int64_t begin, int64_t end) {
    LocalNode local = node;
    Narrow(*local.inputs[0], dimension, begin, end);
    Narrow(local.outputs[0], dimension, begin, end);
    return ConvolutionSignature(local);
  };
  EXPECT_EQ(part(0, 0, 2), part(0, 2, 4));
  EXPECT_NE(part(0, 0, 2), part(0, 0, 4));
  EXPECT_EQ(part(1, 0, 4), "conv2d f32 4x4x8x16 to 4x8x16 window 3x3 stride 1x1 dilation 1x1 padding 1,1,1,1 groups 1");
  EXPECT_EQ(part(0, 0, 0), std::nullopt);
  node.within = {node.inputs[0]->box, node.inputs[1]->box, node.outputs[0].box};
  EXPECT_EQ(ConvolutionSignature(node), std::nullopt);
}

}  // namespace
}  // namespace partita
