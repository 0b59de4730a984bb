// Bias and relu behind a convolution, through a fake cuDNN: by a plan of both, or by a launch of ours.
#include <gtest/gtest.h>

#include "tests/ops/cuda/cudnn/cudnn_run.h"
#include "tests/ops/cuda/cudnn/fake_cudnn.h"
#include "tests/ops/host/part_cases.h"

namespace partita {
namespace {

// What no engine takes together is a plan of the convolution and a launch of ours, also by what is kept.
TEST(CudnnConvolution, AnEpilogueThatNoEngineTakesFollows) {
  int tried = 0;
  for (const KernelCase& c : AllCases()) {
    if (Operations(c.node) == 1) continue;
    for (const LocalNode& node : {c.node, InBf16(c.node)}) {
      const std::vector<Values> inputs = Stored(node, c.inputs);
      const double rounding = node.outputs[0].dtype == DType::kBF16 ? 0x1p-7 : 0;  // before the epilogue, and after
      FakeCudnn fake;
      fake.engines = fake.fallback = {{.epilogues = false}};
      std::vector<std::string> warnings;
      PlanCache cache("", [&](const std::string& warning) { warnings.push_back(warning); });
      for (const bool kept : {false, true}) {
        fake.plans_made = 0;
        const auto found = Computed(fake.api(), node, inputs, {}, {}, &cache, 1);
        ASSERT_TRUE(found.ok()) << c.name << ": " << found.status();
        EXPECT_LE(Distance((*found)[0], Outputs(InF64(c.node), inputs, {.reference_only = true})[0]), 1e-5 + rounding)
            << c.name;
        EXPECT_EQ(fake.plans_made, kept ? 0 : 3);
      }
      EXPECT_EQ(fake.operations_run, (std::vector<int>{1, 1}));
      EXPECT_TRUE(warnings.empty());
      EXPECT_EQ(fake.live, 0);
      EXPECT_FALSE(Computed(fake.api(), node, inputs, {}, {}, &cache).ok()) << "the launch is refused";
      ++tried;
    }
  }
  EXPECT_GE(tried, 60);
}

TEST(CudnnConvolution, AnEpilogueFollowsAPartToo) {
  int taken = 0;
  for (const auto& [seed, whole, part, inputs, part_inputs] : RandomParts(400)) {
    if (Operations(part) == 1 || part.inputs[0]->shape()[3] % 4 != 0 || part.outputs[0].shape()[3] % 4 != 0) continue;
    const Values y = Outputs(InF64(whole), inputs, {.reference_only = true})[0];
    for (const bool together : {true, false}) {
      FakeCudnn fake;
      fake.engines = fake.fallback = {{.epilogues = together}};
      const auto found = Computed(fake.api(), part, part_inputs, {}, {}, nullptr, together ? 0 : 1);
      ASSERT_TRUE(found.ok()) << found.status();
      EXPECT_LE(Distance((*found)[0], ExpectedOfPart(y, part)), 1e-5) << "seed " << seed;
    }
    ++taken;
  }
  EXPECT_GT(taken, 3);
}

// Of both ways the faster one, where plans are timed at all; the other way round in another run, by what is kept.
TEST(CudnnConvolution, AnEpilogueIsApartWhereThatIsFaster) {
  const KernelCase c = AnyCase("conv2d_epilogue");
  for (const bool apart : {false, true}) {
    FakeCudnn fake;
    fake.fallback.clear();
    const std::vector<double> seconds = {2, apart ? 1.0 : 0.5, apart ? 1.5 : 2.5};  // together, alone, alone and launch
    size_t timed = 0;
    CudnnOptions options;
    options.deterministic = false;
    options.timer = TimesOfEach([&](const PlanToTime& plan) -> absl::StatusOr<double> {
      RETURN_IF_ERROR(RunInMemory(plan));
      return seconds[timed++];
    });
    PlanCache cache;
    ASSERT_TRUE(Computed(fake.api(), c.node, c.inputs, {}, options, &cache, apart ? 1 : 0).ok());
    EXPECT_EQ(timed, 3u);
    EXPECT_EQ(fake.operations_run.back(), apart ? 1 : 3);
    ASSERT_TRUE(Computed(fake.api(), c.node, c.inputs, {}, options, &cache, apart ? 1 : 0).ok());
    EXPECT_EQ(timed, 3u);
  }
}

// Of an epilogue most failures lead to a plan of the convolution alone: the same bits.
TEST(CudnnConvolution, EveryCallMayFailWithAnEpilogue) {
  const KernelCase c = AnyCase("conv2d_epilogue");
  std::vector<Values> expected;
  int calls = 0, failed = 0, apart = 0;
  {
    FakeCudnn fake;
    const auto result = Computed(fake.api(), c.node, c.inputs);
    ASSERT_TRUE(result.ok()) << result.status();
    expected = *result;
    calls = fake.calls;
  }
  for (int n = 1; n <= calls; ++n) {
    FakeCudnn fake;
    fake.fail_at = n;
    const auto result = Computed(fake.api(), c.node, c.inputs, {}, {}, nullptr, 1);
    EXPECT_EQ(fake.live, 0) << n;
    if (!result.ok()) {
      ++failed;
      EXPECT_NE(result.status().message().find("answers a fake's error"), std::string::npos) << result.status();
      continue;
    }
    EXPECT_EQ(*result, expected) << n;
    apart += fake.operations_run == std::vector<int>{1};
  }
  EXPECT_GT(failed, 7);
  EXPECT_GT(apart, 60);
}

}  // namespace
}  // namespace partita
