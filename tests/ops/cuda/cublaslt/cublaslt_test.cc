// Matrix products through a fake cuBLASLt, which computes what the descriptors say.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <thread>
#include <tuple>

#include "graph/ir/op_definition.h"
#include "ops/cuda/cublaslt/cublaslt_matmul.h"
#include "tests/ops/cuda/cublaslt/computed.h"
#include "tests/ops/cuda/cublaslt/fake_cublaslt.h"
#include "tests/ops/cuda/kernel/host_queue.h"
#include "tests/ops/cuda/kernel/times_of_each.h"
#include "tests/ops/host/kernel_case.h"

namespace partita {
namespace {

// Row-major operands, each as it lies or transposed, as the column-major library reads them.
TEST(CublasLtMatMul, EveryTransposeEqualsTheHost) {
  int tried = 0;
  for (const KernelCase& c : AllCases()) {
    if (c.node.op->name != "matmul") continue;
    for (const LocalNode& node : {c.node, InF64(c.node), InBf16(c.node)}) {
      const std::vector<Values> inputs = Stored(node, c.inputs);
      const double rounding = node.outputs[0].dtype == DType::kBF16 ? 0x1p-8 : 0;
      FakeCublasLt fake;
      const auto found = Computed(fake.api(), node, inputs);
      ASSERT_TRUE(found.ok()) << found.status();
      EXPECT_LE(Distance((*found)[0], Outputs(InF64(c.node), inputs, {.reference_only = true})[0]), 2e-6 + rounding)
          << c.name;
      EXPECT_EQ(fake.live, 0);
      ++tried;
    }
  }
  EXPECT_GE(tried, 48);
}

TEST(CublasLtMatMul, TheAlgorithmSuitsTheAddresses) {
  const LocalNode node = Product(5, 6, 7);
  const std::vector<Values> inputs = {RandomValues(35, 1), RandomValues(42, 2)};
  FakeCublasLt fake;
  ASSERT_TRUE(Computed(fake.api(), node, inputs).ok());
  ASSERT_TRUE(Computed(fake.api(), node, inputs, {.misalignment = 4}).ok());
  EXPECT_EQ(fake.algorithms_run, (std::vector<uint64_t>{16, 4}));
  EXPECT_EQ(fake.alignments, (std::vector<uint32_t>{16, 4, 16, 4}));
}

// Then our own kernel computes what turns out to lie there; aligned operands, and a search, lose nothing.
TEST(CublasLtMatMul, TheLibraryMayHaveNoAlgorithmForOddAddresses) {
  int tried = 0;
  for (const KernelCase& c : AllCases()) {
    if (c.node.op->name.find("matmul") == std::string::npos || c.node.outputs[0].dtype != DType::kF32) continue;
    FakeCublasLt fake;
    fake.unaligned = false;
    const std::vector<Values> expected = Outputs(InF64(c.node), c.inputs, {.reference_only = true});
    const auto aligned = Computed(fake.api(), c.node, c.inputs, {}, {}, nullptr, false, 2);
    if (!aligned.ok() && absl::IsInvalidArgument(aligned.status())) continue;  // nothing to multiply
    ASSERT_TRUE(aligned.ok()) << c.name << ": " << aligned.status();
    EXPECT_LE(Distance((*aligned)[0], expected[0]), 2e-6) << c.name;
    // Of the calls for a batch the second may lie off 16 bytes where the first does not.
    EXPECT_TRUE(!fake.algorithms_run.empty() || c.node.op->name == "batch_matmul") << c.name;
    fake.algorithms_run.clear();
    const auto odd = Computed(fake.api(), c.node, c.inputs, {.misalignment = 4}, {}, nullptr, false, 3);
    ASSERT_TRUE(odd.ok()) << c.name << ": " << odd.status();
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_LE(Distance((*odd)[i], expected[i]), 2e-6) << c.name;
    EXPECT_TRUE(fake.algorithms_run.empty()) << c.name;
    EXPECT_EQ(fake.live, 0);
    ++tried;
  }
  EXPECT_GE(tried, 40);
}

TEST(CublasLtMatMul, TF32IsUsedOnlyWhereItIsAllowed) {
  const LocalNode node = Product(2, 3, 4);
  const std::vector<Values> inputs = {RandomValues(8, 1), RandomValues(12, 2)};
  FakeCublasLt fake;
  ASSERT_TRUE(Computed(fake.api(), node, inputs).ok());
  ASSERT_TRUE(Computed(fake.api(), node, inputs, {}, {.allow_tf32 = true}).ok());
  ASSERT_TRUE(Computed(fake.api(), InF64(node), inputs, {}, {.allow_tf32 = true}).ok());
  EXPECT_EQ(fake.compute_types,
            (std::vector<cublasComputeType_t>{CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_COMPUTE_64F}));
}

// bf16 is added up in f32, its parts too; TF32 is not for it. Its elements are two bytes, and its plans its own.
TEST(CublasLtMatMul, SumsOfBf16AreWide) {
  const LocalNode node = Product(5, 6, 7);
  const std::vector<Values> inputs = {RandomValues(35, 1), RandomValues(42, 2)};
  FakeCublasLt fake;
  PlanCache cache;
  ASSERT_TRUE(Computed(fake.api(), node, inputs, {}, {.allow_tf32 = true}, &cache).ok());
  EXPECT_EQ(fake.sums, std::vector<uint32_t>(2, CUBLASLT_REDUCTION_SCHEME_MASK));
  ASSERT_TRUE(Computed(fake.api(), InBf16(node), inputs, {.misalignment = 2}, {.allow_tf32 = true}, &cache).ok());
  EXPECT_EQ(fake.searches, 4);
  EXPECT_EQ(fake.alignments, (std::vector<uint32_t>{16, 4, 16, 2}));
  EXPECT_EQ(fake.sums[2], CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
  EXPECT_EQ(fake.sums[3], CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
  EXPECT_EQ(fake.compute_types.back(), CUBLAS_COMPUTE_32F);
}

// Equal products are planned once, so that they get the same algorithm.
TEST(CublasLtMatMul, APlanIsKept) {
  FakeCublasLt fake;
  PlanCache cache;
  const auto products = CublasLtMatMuls::Create(fake.api(), {}, &cache);
  ASSERT_TRUE(products.ok());
  ASSERT_TRUE((*products)->Prepare(Product(2, 3, 4)).ok());
  const int calls = fake.calls;
  const auto again = (*products)->Prepare(Product(2, 3, 4));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(fake.calls, calls);
  EXPECT_EQ(again->workspace_bytes, 1024 + 192);
  EXPECT_TRUE(again->deterministic);
}

// The library refuses a workspace that does not lie on 256 bytes; the planner promises 64 only.
TEST(CublasLtMatMul, TheWorkspaceLiesWhereTheLibraryWantsIt) {
  const LocalNode node = ProductWithEpilogue(DType::kBF16);
  FakeCublasLt fake;
  PlanCache cache;
  const auto products = CublasLtMatMuls::Create(fake.api(), {}, &cache);
  ASSERT_TRUE(products.ok());
  const auto prepared = (*products)->Prepare(node);
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  const auto untouched = [](char c) { return c == 0; };
  alignas(256) char operands[4][256] = {};
  for (const int64_t offset : {0, 64, 128, 192}) {
    alignas(256) char memory[2048] = {};
    const auto enqueue = prepared->bind({{operands[0], operands[1], operands[2]}, {operands[3]}, memory + offset, 0});
    ASSERT_TRUE(enqueue.ok()) << enqueue.status();
    HostQueue queue;
    queue.launches_allowed = 1;
    EXPECT_TRUE((*enqueue)(&queue).ok()) << offset;
    const char* const end = memory + offset + prepared->workspace_bytes;
    EXPECT_TRUE(std::all_of(memory, memory + offset, untouched)) << offset;
    EXPECT_TRUE(std::all_of(end, std::cend(memory), untouched)) << offset;
  }
}

// A capture may not load code.
TEST(CublasLtMatMul, AnAlgorithmRunsOnceBeforeAStep) {
  FakeCublasLt fake;
  PlanCache cache;
  CublasLtOptions options;
  options.load = [](const PlanToTime& plan) -> absl::Status {
    std::vector<char> memory(static_cast<size_t>(plan.bytes) + 256);
    HostQueue queue;
    return plan.run(memory.data() + (256 - reinterpret_cast<uintptr_t>(memory.data()) % 256), &queue);
  };
  const auto products = CublasLtMatMuls::Create(fake.api(), options, &cache);
  ASSERT_TRUE(products.ok());
  ASSERT_TRUE((*products)->Prepare(ProductWithEpilogue(DType::kBF16)).ok());
  ASSERT_TRUE((*products)->Prepare(ProductWithEpilogue(DType::kBF16)).ok());
  EXPECT_EQ(fake.algorithms_run, (std::vector<uint64_t>{16, 2}));
}

// Says what the times are: of the places in the heuristics' list, those of which the last but one is the fastest. The
// second one cannot be timed.
PlanTimer TimerOf(std::vector<double> seconds, size_t* timed) {
  return TimesOfEach([seconds, timed](const PlanToTime& plan) -> absl::StatusOr<double> {
    std::vector<char> memory(static_cast<size_t>(plan.bytes) + 256);
    char* const aligned = memory.data() + (256 - reinterpret_cast<uintptr_t>(memory.data()) % 256);
    HostQueue queue;
    RETURN_IF_ERROR(plan.run(aligned, &queue));
    const double value = seconds[(*timed)++ % seconds.size()];
    return value < 0 ? absl::StatusOr<double>(Unavailable("lost")) : value;
  });
}

TEST(CublasLtMatMul, TheFastestOfThoseThatCanBeTimedWins) {
  const LocalNode node = Product(5, 6, 7);
  const std::vector<Values> inputs = {RandomValues(35, 1), RandomValues(42, 2)};
  FakeCublasLt fake;
  fake.algorithms = 5;
  size_t timed = 0;
  PlanCache cache;
  const CublasLtOptions options{.timer = TimerOf({3, -1, 1, 2}, &timed)};
  const auto expected = Computed(fake.api(), node, inputs);
  fake.places_run.clear();
  const auto found = Computed(fake.api(), node, inputs, {}, options, &cache);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(*found, *expected);
  EXPECT_EQ(timed, 4u);  // for aligned operands alone
  EXPECT_EQ(fake.places_run, (std::vector<uint64_t>{1, 2, 3, 4, 3}));
  // Another process is told, and neither searches nor times.
  PlanCache told;
  ASSERT_TRUE(told.Import(cache.Export()).ok());
  fake.searches = 0;
  fake.places_run.clear();
  ASSERT_TRUE(Computed(fake.api(), node, inputs, {}, options, &told).ok());
  EXPECT_EQ(fake.searches, 0);
  EXPECT_EQ(timed, 4u);
  EXPECT_EQ(fake.places_run, std::vector<uint64_t>{3});
  size_t lost = 0;
  EXPECT_EQ(Computed(fake.api(), node, inputs, {}, {.timer = TimerOf({-1}, &lost)}).status(),
            Unavailable("none of 4 plans could be timed"));
}

// What is kept is checked by the library; keys tell devices, TF32 and timing apart.
TEST(CublasLtMatMul, AnAlgorithmIsKeptAsLongAsTheLibraryTakesIt) {
  const LocalNode node = Product(5, 6, 7);
  const std::vector<Values> inputs = {RandomValues(35, 1), RandomValues(42, 2)};
  FakeCublasLt fake;
  std::vector<std::string> warnings;
  PlanCache cache("", [&](const std::string& warning) { warnings.push_back(warning); });
  const auto searches = [&](const CublasLtOptions& options) {
    fake.searches = 0;
    EXPECT_TRUE(Computed(fake.api(), node, inputs, {}, options, &cache).ok());
    return fake.searches;
  };
  EXPECT_EQ(searches({}), 2);
  EXPECT_EQ(searches({}), 0);
  EXPECT_EQ(searches({.device = "another"}), 2);
  EXPECT_EQ(searches({.allow_tf32 = true}), 2);
  EXPECT_TRUE(warnings.empty());
  fake.algorithms_are_known = false;
  EXPECT_EQ(searches({}), 2);
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_EQ(warnings[0],
            "the plan that was kept for 'cublaslt 130100  product 5 6 7 0 0 f32 tf32 0 timed 0 alignment 16' is made "
            "anew: the library does not take it any more");
  fake.algorithms_are_known = true;
  EXPECT_EQ(searches({}), 0);
  cache.Add("cublaslt 130100  product 5 6 7 0 0 f32 tf32 0 timed 0 alignment 16", "short");
  EXPECT_EQ(searches({}), 1);
}

TEST(CublasLtMatMul, RefusesWhatItCannotDo) {
  FakeCublasLt fake;
  PlanCache cache;
  const auto products = CublasLtMatMuls::Create(fake.api(), {}, &cache);
  ASSERT_TRUE(products.ok());
  LocalNode empty = Product(2, 3, 4);
  Narrow(*empty.inputs[0], 1, 2, 2);
  Narrow(*empty.inputs[1], 0, 2, 2);
  EXPECT_EQ((*products)->Prepare(empty).status().message(), "the inner dimension is empty");
  fake.algorithms = 1;  // the one that is not to be had
  EXPECT_EQ((*products)->Prepare(Product(2, 3, 4)).status().message(),
            "cuBLASLt has no algorithm for a product of 2 x 3 x 4");
  EXPECT_EQ(Computed(fake.api(), Product(2, 3, 5), {Values(10), Values(15)}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

// With a plan that was kept, and while timing: an error that says which call it was, or a plan found in another way.
TEST(CublasLtMatMul, EveryCallMayFailWithPlansAndTimes) {
  const LocalNode node = Product(2, 3, 4);
  const std::vector<Values> inputs = {RandomValues(8, 1), RandomValues(12, 2)};
  for (const bool kept : {true, false}) {
    size_t timed = 0;
    const CublasLtOptions options{.timer = TimerOf({2, 1}, &timed)};
    int failed = 0;
    bool reached = true;
    for (int n = 1; reached; ++n) {
      FakeCublasLt fake;
      fake.algorithms = 3;
      PlanCache cache;
      if (kept) {
        ASSERT_TRUE(Computed(fake.api(), node, inputs, {}, options, &cache).ok());
      }
      fake.fail_at = fake.calls + n;
      const auto result = Computed(fake.api(), node, inputs, {}, options, &cache);
      reached = fake.calls >= fake.fail_at;
      EXPECT_EQ(fake.live, 0) << n;
      if (result.ok()) continue;
      ++failed;
      EXPECT_EQ(result.status().code(), absl::StatusCode::kInternal) << n;
      EXPECT_NE(result.status().message().find("answers a fake's error"), std::string::npos) << result.status();
    }
    EXPECT_GT(failed, 7);
  }
}

TEST(CublasLtMatMul, EveryCallMayFail) {
  const LocalNode node = Product(2, 3, 4);
  const std::vector<Values> inputs = {RandomValues(8, 1), RandomValues(12, 2)};
  int calls = 0;
  {
    FakeCublasLt fake;
    ASSERT_TRUE(Computed(fake.api(), node, inputs).ok());
    calls = fake.calls;
  }
  ASSERT_GT(calls, 15);
  for (int n = 1; n <= calls; ++n) {
    FakeCublasLt fake;
    fake.fail_at = n;
    const auto result = Computed(fake.api(), node, inputs);
    EXPECT_EQ(result.status().code(), absl::StatusCode::kInternal) << n;
    EXPECT_NE(result.status().message().find("answers a fake's error"), std::string::npos) << result.status();
    EXPECT_EQ(fake.live, 0) << n;
  }
  FakeCublasLt fake;
  EXPECT_FALSE(Computed(fake.api(), node, inputs, {}, {}, nullptr, true).ok());
  fake.fail_at = fake.calls + 1;
  fake.error = CUBLAS_STATUS_NOT_INITIALIZED;
  EXPECT_EQ(Computed(fake.api(), node, inputs).status().code(), absl::StatusCode::kUnavailable);
}

TEST(CublasLtMatMul, ManyThreadsComputeAtOnce) {
  const LocalNode node = ProductWithEpilogue();
  const std::vector<Values> inputs = {RandomValues(35, 1), RandomValues(42, 2), RandomValues(6, 3)};
  FakeCublasLt fake;
  const auto expected = Computed(fake.api(), node, inputs);
  ASSERT_TRUE(expected.ok()) << expected.status();
  std::vector<int> equal(4);
  std::vector<std::thread> threads;
  for (int& count : equal) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5; ++i) {
        const auto found = Computed(fake.api(), node, inputs);
        count += found.ok() && *found == *expected;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(equal, std::vector<int>(4, 5));
  EXPECT_EQ(fake.live, 0);
}

}  // namespace
}  // namespace partita
