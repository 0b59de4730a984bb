// Convolutions through a fake cuDNN, which computes what the descriptors say.
#include <gtest/gtest.h>

#include <cstring>

#include "ops/cuda/own/gradient_sum.h"
#include "tests/ops/cuda/cudnn/cudnn_run.h"
#include "tests/ops/cuda/cudnn/fake_cudnn.h"
#include "tests/ops/host/part_cases.h"

namespace partita {
namespace {

using Notes = std::vector<cudnnBackendNumericalNote_t>;

// Layouts, strides, dilations, groups and paddings of all three directions, and of forward ones all epilogues.
TEST(CudnnConvolution, EveryCaseEqualsTheHost) {
  int tried = 0;
  for (const KernelCase& c : AllCases()) {
    if (!IsConvolution(c.node)) continue;
    for (const LocalNode& node : {c.node, InBf16(c.node)}) {
      const std::vector<Values> inputs = Stored(node, c.inputs);
      const double rounding = node.outputs[0].dtype == DType::kBF16 ? 0x1p-8 : 0;
      FakeCudnn fake;
      const auto found = Computed(fake.api(), node, inputs);
      ASSERT_TRUE(found.ok()) << c.name << ": " << found.status();
      EXPECT_LE(Distance((*found)[0], Outputs(InF64(c.node), inputs, {.reference_only = true})[0]), 1e-5 + rounding)
          << c.name;
      EXPECT_EQ(fake.live, 0);
      EXPECT_EQ(fake.operations_run, std::vector<int>{Operations(node)}) << c.name;
      ++tried;
    }
  }
  EXPECT_GE(tried, 140);
}

// Its terms are gradients of the library, which a launch of ours adds up; a sum of several is no convolution.
TEST(CudnnConvolution, ASumOfGradientsIsMadeOfItsTerms) {
  int tried = 0;
  for (const KernelCase& c : AllCases()) {
    if (!IsSum(c.node)) continue;
    FakeCudnn fake;
    PlanCache cache;
    const auto convolutions = CudnnConvolutions::Create(fake.api(), {}, &cache);
    ASSERT_TRUE(convolutions.ok());
    EXPECT_EQ((*convolutions)->Prepare(c.node).status().code(), absl::StatusCode::kInvalidArgument);
    const auto prepared = GradientSum(c.node, [&](const LocalNode& term) { return (*convolutions)->Prepare(term); });
    ASSERT_TRUE(prepared.ok()) << prepared.status();
    const size_t terms = c.node.inputs.size() / 2;
    EXPECT_EQ(prepared->library_launches, static_cast<int>(terms) + 1);
    const auto run = [&](const KernelArguments& arguments) -> absl::Status {
      ASSIGN_OR_RETURN(const CudaEnqueue enqueue, prepared->bind(arguments));
      HostQueue queue;
      queue.launches_allowed = 1;
      return enqueue(&queue);
    };
    const auto found = RunOnBuffers(c.node, c.inputs, {}, prepared->workspace_bytes, "cudnn", run);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_LE(Distance((*found)[0], Outputs(InF64(c.node), c.inputs, {.reference_only = true})[0]), 1e-5) << c.name;
    EXPECT_EQ(fake.operations_run, std::vector<int>(terms, 1));
    ++tried;
  }
  EXPECT_GE(tried, 2);
}

// Rows and columns of the output, from and into larger blocks; memory that is timed has room for those.
TEST(CudnnConvolution, PartsAreWhatTheWholeHasThere) {
  int taken = 0;
  for (const auto& [seed, whole, part, inputs, part_inputs] : RandomParts(200)) {
    FakeCudnn fake;
    const auto found = Computed(fake.api(), part, part_inputs, {}, seed % 2 == 0 ? CudnnOptions() : Timed());
    if (part.inputs[0]->shape()[3] % 4 != 0 || part.outputs[0].shape()[3] % 4 != 0) {
      EXPECT_NE(found.status().message().find("a part of images"), std::string::npos) << found.status();
      continue;
    }
    ASSERT_TRUE(found.ok()) << found.status();
    const Values y = Outputs(InF64(whole), inputs, {.reference_only = true})[0];
    EXPECT_LE(Distance((*found)[0], ExpectedOfPart(y, part)), 1e-5) << "seed " << seed;
    EXPECT_EQ(fake.engines_run.size() >= 2, seed % 2 != 0);
    ++taken;
  }
  EXPECT_GT(taken, 5);
}

// The library is asked for the groups that the rank holds, of all three directions.
TEST(CudnnConvolution, ComputesTheGroupsOfARank) {
  int tried = 0;
  for (const auto& [first, whole, part, inputs, part_inputs] : PartsOfGroups()) {
    FakeCudnn fake;
    const auto found = Computed(fake.api(), part, part_inputs);
    ASSERT_TRUE(found.ok()) << whole.op->name << ": " << found.status();
    const Values y = Part(Outputs(InF64(whole), inputs, {.reference_only = true})[0], part.outputs[0]);
    EXPECT_LE(Distance((*found)[0], y), 1e-5) << whole.op->name << " from group " << first;
    ++tried;
  }
  EXPECT_GE(tried, 27);
}

// The first engine that works and keeps to the rules.
TEST(CudnnConvolution, EnginesKeepToTheRules) {
  const KernelCase c = AnyCase();
  const Notes tensor_core = {CUDNN_NUMERICAL_NOTE_TENSOR_CORE}, rounds = {CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS},
              any_order = {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC},
              narrow_sums = {CUDNN_NUMERICAL_NOTE_TENSOR_CORE, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION};
  struct Expected {
    bool tf32, deterministic;
    int engine;
  };
  for (const Expected& e : {Expected{false, true, 5}, {true, true, 2}, {false, false, 4}, {true, false, 2}}) {
    FakeCudnn fake;
    fake.engines = {{.works = false},  {.notes = narrow_sums}, {.notes = tensor_core},
                    {.notes = rounds}, {.notes = any_order},   {}};
    ASSERT_TRUE(
        Computed(fake.api(), c.node, c.inputs, {}, {.allow_tf32 = e.tf32, .deterministic = e.deterministic}).ok());
    EXPECT_EQ(fake.engines_run, std::vector<int>{e.engine}) << e.tf32 << e.deterministic;
  }
  // Tensor cores are what bf16 is for, and its sums are f32 whether bits must repeat or not.
  for (const bool deterministic : {true, false}) {
    FakeCudnn fake;
    fake.engines = {
        {.notes = {CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC}},
        {.notes = narrow_sums},
        {.notes = tensor_core},
        {}};
    ASSERT_TRUE(Computed(fake.api(), InBf16(c.node), c.inputs, {}, {.deterministic = deterministic}).ok());
    EXPECT_EQ(fake.engines_run, std::vector<int>{2});
  }
}

// Every operand is declared at a multiple of 16 bytes, a gradient of weights too: else none is named that uses them.
TEST(CudnnConvolution, EveryDirectionMayUseTensorCores) {
  for (const char* op : {"conv2d", "conv2d_input_grad", "conv2d_weight_grad"}) {
    const KernelCase c = AnyCase(op);
    for (const LocalNode& node : {c.node, InBf16(c.node)}) {
      FakeCudnn fake;
      fake.engines = {{.notes = {CUDNN_NUMERICAL_NOTE_TENSOR_CORE}}, {}};
      ASSERT_TRUE(Computed(fake.api(), node, c.inputs, {}, {.allow_tf32 = true}).ok());
      EXPECT_EQ(fake.engines_run, std::vector<int>{0}) << op;
    }
  }
}

TEST(CudnnConvolution, SaysWhetherItIsDeterministic) {
  FakeCudnn fake;
  fake.engines = {{.notes = {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC}, .workspace = 777}};
  PlanCache cache;
  for (int again = 0; again < 2; ++again) {  // also of a plan that was kept
    const auto convolutions = CudnnConvolutions::Create(fake.api(), {.deterministic = false}, &cache);
    const auto prepared = (*convolutions)->Prepare(AnyCase().node);
    ASSERT_TRUE(prepared.ok());
    EXPECT_FALSE(prepared->deterministic);
    EXPECT_EQ(prepared->workspace_bytes, 777);
  }
  EXPECT_EQ(fake.plans_made, 1);
}

TEST(CudnnConvolution, TheFallbackListIsAskedLast) {
  FakeCudnn fake;
  fake.engines = {{.works = false}, {.workspace = int64_t{2} << 30}};
  const KernelCase c = AnyCase();
  ASSERT_TRUE(Computed(fake.api(), c.node, c.inputs).ok());
  EXPECT_EQ(fake.engines_run, std::vector<int>{2});
  fake.fallback.clear();
  EXPECT_EQ(Computed(fake.api(), c.node, c.inputs).status().message(),
            "none of the 2 engines that cuDNN names takes it: cudnnBackendFinalize of a plan answers a fake's error");
}

// Out of time's order: the fastest of those that can be timed, of the fallback list too, and none twice, though modes A
// and B name the same ones. Never where results must repeat.
TEST(CudnnConvolution, PlansAreTimedOnlyWhereTheyMayDiffer) {
  const KernelCase c = AnyCase();
  const std::vector<double> seconds = {3, 1, 2, 1.5};
  size_t timed = 0;
  CudnnOptions options;
  options.timer = TimesOfEach([&](const PlanToTime& plan) -> absl::StatusOr<double> {
    RETURN_IF_ERROR(RunInMemory(plan));
    if (timed == 1) return ++timed, Unavailable("lost");
    return seconds[timed++];
  });
  for (const bool deterministic : {true, false}) {
    FakeCudnn fake;
    fake.engines = {{}, {}, {}};
    options.deterministic = deterministic;
    ASSERT_TRUE(Computed(fake.api(), c.node, c.inputs, {}, options).ok());
    EXPECT_EQ(fake.engines_run, deterministic ? std::vector<int>{0} : (std::vector<int>{0, 1, 2, 3, 3}));
  }
  EXPECT_EQ(timed, 4u);
}

// Modes A and B name the same engines.
TEST(CudnnConvolution, AnEngineIsPlannedOnce) {
  const KernelCase c = AnyCase();
  FakeCudnn fake;
  fake.engines = {{}, {.works = false}, {}};
  ASSERT_TRUE(Computed(fake.api(), c.node, c.inputs, {}, Timed()).ok());
  EXPECT_EQ(fake.plans_made, 4) << "three engines, and the fallback";
}

// A plan takes a second on this clock, and timing none.
TEST(CudnnConvolution, PlanningEndsInTime) {
  struct Expected {
    double each, in_all;
    int plans, of;
  };
  for (const Expected& e : {Expected{100, 100, 6, 6}, {3, 100, 3, 6}, {100, 2, 2, 6}, {0, 100, 1, 6}, {100, 1, 1, 6}}) {
    FakeCudnn fake;
    fake.engines = std::vector<FakeCudnn::Engine>(5);
    std::vector<std::string> told;
    CudnnOptions options = Timed();
    options.limits.seconds_each = e.each;
    options.limits.seconds_in_all = e.in_all;
    options.limits.clock = [&] { return static_cast<double>(fake.plans_made); };
    options.tell = [&](const std::string& line) { told.push_back(line); };
    PlanCache cache;
    const auto convolutions = CudnnConvolutions::Create(fake.api(), options, &cache);
    const auto prepared = (*convolutions)->Prepare(AnyCase().node);
    ASSERT_TRUE(prepared.ok()) << prepared.status();
    EXPECT_EQ(fake.plans_made, e.plans);
    EXPECT_EQ(
        prepared->remark,
        e.plans == e.of ? "" : fmt::format("{} of {} cuDNN plans tried; no time was left for more", e.plans, e.of));
    // A later convolution has no less than its first plan, and what was chosen is kept.
    ASSERT_TRUE((*convolutions)->Prepare(AnyCase("conv2d_weight_grad").node).ok());
    const int later = fake.plans_made - e.plans;
    EXPECT_EQ(later, std::min<int>(e.plans, std::max(1, static_cast<int>(e.in_all) - e.plans)));
    EXPECT_EQ(told.size(), e.in_all < 100 ? 1u : 0u);
    ASSERT_TRUE((*convolutions)->Prepare(AnyCase().node).ok());
    EXPECT_EQ(fake.plans_made, e.plans + later);
  }
}

// A capture may not load code. A plan that was timed has run.
TEST(CudnnConvolution, APlanRunsOnceBeforeAStep) {
  const KernelCase c = AnyCase();
  int loaded = 0;
  CudnnOptions options = Timed();
  options.load = [&](const PlanToTime& plan) { return ++loaded, RunInMemory(plan); };
  for (const bool deterministic : {true, false}) {
    FakeCudnn fake;
    options.deterministic = deterministic;
    PlanCache cache;
    for (int process = 0; process < 2; ++process) {  // the second one finds the plan in the cache
      loaded = 0;
      const auto convolutions = CudnnConvolutions::Create(fake.api(), options, &cache);
      ASSERT_TRUE((*convolutions)->Prepare(c.node).ok());
      ASSERT_TRUE((*convolutions)->Prepare(c.node).ok());
      EXPECT_EQ(loaded, deterministic || process == 1 ? 1 : 0);
    }
  }
}

// A node that several ranks compute alike never gets an engine whose bits may differ, even where others may.
TEST(CudnnConvolution, WhatRanksComputeAlikeIsDeterministic) {
  KernelCase c = AnyCase();
  CudnnOptions options;
  options.deterministic = false;
  for (const bool replicated : {false, true}) {
    FakeCudnn fake;
    fake.engines = {{.notes = {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC}}, {}};
    c.node.replicated = replicated;
    ASSERT_TRUE(Computed(fake.api(), c.node, c.inputs, {}, options).ok());
    EXPECT_EQ(fake.engines_run, std::vector<int>{replicated ? 1 : 0});
  }
}

// Found once per process and key; then read from the cache, unless the library does not know the text.
TEST(CudnnConvolution, APlanIsKept) {
  FakeCudnn fake;
  fake.engines = {{.works = false}, {}};
  const KernelCase c = AnyCase();
  PlanCache cache;
  ASSERT_TRUE(Computed(fake.api(), c.node, c.inputs, {}, {}, &cache).ok());
  EXPECT_EQ(fake.plans_made, 2);
  const auto again = Computed(fake.api(), c.node, c.inputs, {}, {}, &cache);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(fake.plans_made, 2);
  EXPECT_EQ(*again, *Computed(fake.api(), c.node, c.inputs));
  EXPECT_EQ(fake.plans_made, 4);
  fake.text_is_known = false;
  ASSERT_TRUE(Computed(fake.api(), c.node, c.inputs, {}, {}, &cache).ok());
  EXPECT_EQ(fake.plans_made, 6);
  ASSERT_TRUE(Computed(fake.api(), c.node, c.inputs, {}, {.device = "another"}, &cache).ok());
  EXPECT_EQ(fake.plans_made, 8);
  ASSERT_TRUE(Computed(fake.api(), InBf16(c.node), c.inputs, {}, {}, &cache).ok());
  EXPECT_EQ(fake.plans_made, 10);
  EXPECT_EQ(fake.engines_run, std::vector<int>(6, 1));
}

// An odd address goes to the reference kernel, which HostQueue refuses.
TEST(CudnnConvolution, OddAddressesGoToTheReference) {
  FakeCudnn fake;
  const KernelCase forward = AnyCase();
  EXPECT_FALSE(Computed(fake.api(), forward.node, forward.inputs, {.misalignment = 4}).ok());
  EXPECT_TRUE(fake.engines_run.empty());
}

// A gradient of weights that is a member of a bucket may lie anywhere, if it fills no vectors of 16 bytes: the plan
// computes it in the workspace, and it is copied from there.
TEST(CudnnConvolution, AnOddGradientOfWeightsComesByTheWorkspace) {
  int tried = 0;
  for (const KernelCase& c : AllCases()) {
    if (c.node.op->name != "conv2d_weight_grad") continue;
    for (const LocalNode& node : {c.node, InBf16(c.node)}) {
      const int64_t bytes = node.outputs[0].bytes();
      FakeCudnn fake;
      fake.engines = {{.workspace = 1000}};
      PlanCache cache;
      const auto convolutions = CudnnConvolutions::Create(fake.api(), {}, &cache);
      const auto prepared = (*convolutions)->Prepare(node);
      ASSERT_TRUE(prepared.ok()) << prepared.status();
      EXPECT_EQ(prepared->workspace_bytes, bytes % 16 == 0 ? 1000 : 1008 + bytes) << c.name;
      if (bytes % 16 == 0) continue;
      alignas(16) static char bucket[1 << 16];
      char* const odd = bucket + 4;
      ASSERT_LE(bytes + 4, static_cast<int64_t>(sizeof(bucket)));
      const std::vector<Values> inputs = Stored(node, c.inputs);
      const auto found = RunOnBuffers(node, inputs, {}, prepared->workspace_bytes, "cudnn",
                                      [&](const KernelArguments& arguments) -> absl::Status {
                                        KernelArguments moved = arguments;
                                        moved.outputs[0] = odd;
                                        ASSIGN_OR_RETURN(const CudaEnqueue enqueue, prepared->bind(moved));
                                        HostQueue queue;
                                        queue.launches_allowed = 1;
                                        const absl::Status status = enqueue(&queue);
                                        std::memcpy(arguments.outputs[0], odd, static_cast<size_t>(bytes));
                                        return status;
                                      });
      ASSERT_TRUE(found.ok()) << c.name << ": " << found.status();
      const double rounding = node.outputs[0].dtype == DType::kBF16 ? 0x1p-8 : 0;
      EXPECT_LE(Distance((*found)[0], Outputs(InF64(c.node), inputs, {.reference_only = true})[0]), 1e-5 + rounding)
          << c.name;
      EXPECT_EQ(fake.engines_run, std::vector<int>{0}) << c.name;
      ++tried;
    }
  }
  EXPECT_GE(tried, 5);
}

TEST(CudnnConvolution, RefusesWhatItCannotDo) {
  FakeCudnn fake;
  PlanCache cache;
  const auto convolutions = CudnnConvolutions::Create(fake.api(), {}, &cache);
  LocalNode node = AnyCase().node;
  EXPECT_EQ((*convolutions)->Prepare(InF64(node)).status().message(), "dtype is f64, allowed are f32 and bf16");
  Narrow(*node.inputs[0], 0, 0, 0);
  Narrow(node.outputs[0], 0, 0, 0);
  EXPECT_EQ((*convolutions)->Prepare(node).status().message(), "an image or a filter is empty");
}

// Each call fails once: an error that says which, or a plan found in another way; nothing is lost, nothing crashes.
TEST(CudnnConvolution, EveryCallMayFail) {
  for (const std::string op : {"conv2d", "conv2d_input_grad", "conv2d_weight_grad"}) {
    const KernelCase c = AnyCase(op);
    int calls = 0;
    std::vector<Values> whole;
    {
      FakeCudnn fake;
      const auto result = Computed(fake.api(), c.node, c.inputs);
      ASSERT_TRUE(result.ok());
      whole = *result;
      calls = fake.calls;
    }
    ASSERT_GT(calls, 40);
    int failed = 0;
    for (int n = 1; n <= calls; ++n) {
      FakeCudnn fake;
      fake.fail_at = n;
      const auto result = Computed(fake.api(), c.node, c.inputs);
      EXPECT_EQ(fake.live, 0) << n;
      if (result.ok()) {
        EXPECT_EQ(*result, whole) << n;
      } else {
        ++failed;
        EXPECT_NE(result.status().message().find("answers a fake's error"), std::string::npos) << result.status();
      }
    }
    EXPECT_GT(failed, 30);
  }
}

// The same with a plan that was kept, and while plans are timed.
TEST(CudnnConvolution, EveryCallMayFailWithPlansAndTimes) {
  const KernelCase c = AnyCase();
  const CudnnOptions options = Timed();
  for (const bool kept : {true, false}) {
    int failed = 0;
    bool reached = true;
    for (int n = 1; reached; ++n) {
      FakeCudnn fake;
      fake.engines = {{}, {}};
      std::vector<std::string> warnings;
      PlanCache cache("", [&](const std::string& warning) { warnings.push_back(warning); });
      if (kept) {
        ASSERT_TRUE(Computed(fake.api(), c.node, c.inputs, {}, options, &cache).ok());
      }
      fake.fail_at = fake.calls + n;
      const auto result = Computed(fake.api(), c.node, c.inputs, {}, options, &cache);
      reached = fake.calls >= fake.fail_at;
      EXPECT_EQ(fake.live, 0) << n;
      EXPECT_TRUE(kept || warnings.empty()) << n;
      if (result.ok()) continue;
      ++failed;
      EXPECT_NE(result.status().message().find("answers a fake's error"), std::string::npos) << result.status();
    }
    EXPECT_GT(failed, 5);
  }
}

}  // namespace
}  // namespace partita
