// A GPU that need not be here: cuDNN is asked by its description, without a handle, up to the workspace of a plan.
#include "ops/cuda/cudnn/cudnn_target.h"

#include <gmock/gmock.h>

#include "tests/ops/cuda/cudnn/cudnn_run.h"
#include "tests/ops/cuda/cudnn/fake_cudnn.h"

namespace partita {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

constexpr char kGpu[] = R"({"deviceVer":900})";

absl::StatusOr<PreparedCudaKernel> Prepared(const FakeCudnn& fake, const LocalNode& node) {
  PlanCache plans;
  ASSIGN_OR_RETURN(const auto convolutions, CudnnConvolutions::CreateDescribed(fake.api(), {}, kGpu, &plans));
  return convolutions->Prepare(node);
}

TEST(DescribedTarget, AnswersForEveryConvolution) {
  constexpr int64_t kWorkspace = int64_t{1} << 29;  // more than that of any reference
  int tried = 0;
  for (const KernelCase& c : AllCases()) {
    if (!IsConvolution(c.node)) continue;
    FakeCudnn fake;
    fake.engines = {{.works = false}, {.workspace = kWorkspace}};
    {
      const absl::StatusOr<PreparedCudaKernel> prepared = Prepared(fake, c.node);
      ASSERT_TRUE(prepared.ok()) << c.name << ": " << prepared.status();
      const int64_t bytes = c.node.outputs[0].bytes();
      const bool may_be_odd = c.node.op->name == "conv2d_weight_grad" && bytes % 16 != 0;
      EXPECT_EQ(prepared->workspace_bytes, kWorkspace + (may_be_odd ? bytes : 0)) << c.name;
      EXPECT_FALSE(prepared->workspace_estimated);
      EXPECT_EQ(prepared->bind({}).status().code(), absl::StatusCode::kUnavailable);
    }
    EXPECT_EQ(fake.descriptions.size(), 3u) << "the heuristics, the plan that fails and the next";
    EXPECT_THAT(fake.descriptions, Each(std::string(kGpu)));
    EXPECT_EQ(fake.handles_made, 0);
    EXPECT_EQ(fake.live, 0);
    ++tried;
  }
  EXPECT_GE(tried, 70);
}

// The one that was chosen, with its notes; nothing if the library does not answer.
TEST(DescribedTarget, APlanNamesItsEngine) {
  FakeCudnn fake;
  fake.engines = {{.works = false}, {.notes = {CUDNN_NUMERICAL_NOTE_FFT, CUDNN_NUMERICAL_NOTE_WINOGRAD}}};
  const absl::StatusOr<PreparedCudaKernel> prepared = Prepared(fake, AnyCase().node);
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  EXPECT_EQ(prepared->engine(), "engine 1: FFT, WINOGRAD");
  fake.fail_at = fake.calls + 1;
  EXPECT_EQ(prepared->engine(), "");
}

// Ours is counted if no engine takes what follows a convolution.
TEST(DescribedTarget, AnEpilogueApartIsALaunchMore) {
  for (const KernelCase& c : AllCases()) {
    if (c.node.op->name != "conv2d_epilogue") continue;
    const bool any = DescribeConvolution(c.node)->epilogue.any();
    for (const bool fused : {false, true}) {
      FakeCudnn fake;
      fake.engines = {{.epilogues = fused}};
      fake.fallback = fake.engines;
      const absl::StatusOr<PreparedCudaKernel> prepared = Prepared(fake, c.node);
      ASSERT_TRUE(prepared.ok()) << c.name << ": " << prepared.status();
      EXPECT_EQ(prepared->library_launches, any && !fused ? 2 : 1) << c.name;
    }
  }
}

TEST(DescribedTarget, AHandleIsAskedWithoutADescription) {
  FakeCudnn fake;
  const KernelCase c = AnyCase();
  ASSERT_TRUE(Computed(fake.api(), c.node, c.inputs).ok());
  EXPECT_EQ(fake.handles_made, 1);
  EXPECT_TRUE(fake.descriptions.empty());
}

// Whatever call fails: an error or the next engine, and nothing is lost.
TEST(DescribedTarget, EveryCallMayFail) {
  const KernelCase c = AnyCase();
  int calls = 0;
  {
    FakeCudnn fake;
    ASSERT_TRUE(Prepared(fake, c.node).ok());
    calls = fake.calls;
  }
  for (int n = 1; n <= calls; ++n) {
    FakeCudnn fake;
    fake.fail_at = n;
    if (const auto prepared = Prepared(fake, c.node); !prepared.ok()) {
      EXPECT_THAT(std::string(prepared.status().message()), HasSubstr("a fake's error")) << n;
    }
    EXPECT_EQ(fake.live, 0) << n;
  }
}

}  // namespace
}  // namespace partita
