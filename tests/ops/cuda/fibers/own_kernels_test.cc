// All own kernels on fibers, over the table of tests/ops/host/cases.cc: the device branch of the .cu files gives what
// the host's reference gives, in any order of blocks and threads the same bits, and touches nothing but its tensors.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "graph/ir/op_definition.h"
#include "tests/ops/cuda/fibers/cases.h"
#include "tests/ops/cuda/fibers/own_kernel.h"
#include "tests/ops/host/part_cases.h"

namespace partita::fibers {
namespace {

// What the address sanitizer sees is the same in any order.
#ifdef __SANITIZE_ADDRESS__
constexpr uint64_t kOrders = 2;
#else
constexpr uint64_t kOrders = 20;
#endif

bool TakesBf16(const KernelCase& c) {
  if (c.node.members > 1) return false;
  const LocalNode node = InBf16(c.node);
  const auto status = RunOnFibers(node, Stored(node, c.inputs)).status();
  return status.code() != absl::StatusCode::kInvalidArgument;
}

std::vector<KernelCase> SmallCases() { return CasesUpTo(3e5); }

// Two small ones of each op.
std::vector<KernelCase> OrderedCases() {
  std::vector<KernelCase> cases = CasesUpTo(3e4);
  std::map<std::string, int> taken;
  if (!kAllCases) std::erase_if(cases, [&](const KernelCase& c) { return ++taken[c.node.op->name] > 2; });
  return cases;
}

std::string NameOfCase(const testing::TestParamInfo<KernelCase>& info) { return info.param.name; }

class FiberKernel : public testing::TestWithParam<KernelCase> {};

// At aligned addresses, and at such that are aligned to their elements alone.
TEST_P(FiberKernel, EqualsTheHostsReference) {
  const KernelCase& c = GetParam();
  const std::vector<Values> expected = Reference(c.node, c.inputs);
  for (const bool off_by_one : {false, true}) {
    SCOPED_TRACE(off_by_one ? "off by one" : "aligned");
    ExpectNear(c.node, OnFibers(c.node, c.inputs, {.off_by_one = off_by_one}), expected);
  }
}

TEST_P(FiberKernel, EqualsTheHostsReferenceInBf16) {
  const KernelCase& c = GetParam();
  if (!TakesBf16(c)) GTEST_SKIP() << "is of f32 and f64";
  const LocalNode node = InBf16(c.node);
  const std::vector<Values> inputs = Stored(node, c.inputs);
  const std::vector<Values> expected = Reference(c.node, inputs);
  for (const bool off_by_one : {false, true}) {
    SCOPED_TRACE(off_by_one ? "off by one" : "aligned");
    ExpectNear(node, OnFibers(node, inputs, {.off_by_one = off_by_one}), expected);
  }
}

TEST_P(FiberKernel, InPlaceChangesNothing) {
  const KernelCase& c = GetParam();
  if (c.node.op->in_place.empty()) GTEST_SKIP() << "not in place";
  EXPECT_EQ(OnFibers(c.node, c.inputs, {.in_place = true}), OnFibers(c.node, c.inputs));
}

INSTANTIATE_TEST_SUITE_P(Cuda, FiberKernel, testing::ValuesIn(SmallCases()), NameOfCase);

class FiberOrder : public FiberKernel {};

TEST_P(FiberOrder, GivesTheSameBitsInAnyOrder) {
  const KernelCase& c = GetParam();
  const std::vector<Values> first = OnFibers(c.node, c.inputs);
  for (uint64_t seed = 2; seed <= kOrders; ++seed) {
    ASSERT_EQ(OnFibers(c.node, c.inputs, {}, seed), first) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Cuda, FiberOrder, testing::ValuesIn(OrderedCases()), NameOfCase);

// Several chunks of rows, tiles of channels and groups of samples: whichever block is the last adds up what the others
// leave, launch after launch by the same counters, which must be 0 again for that.
TEST(FiberKernels, SumsOfBatchNormAreTheSameBitsWhicheverBlockIsLast) {
  const TensorType x{DType::kF32, {2, 17, 16, 36}}, vector{DType::kF32, {36}};
  for (const int64_t samples : {0, 1}) {
    const TensorType stats{DType::kF64, {samples == 0 ? 1 : 2, 2, 36}};
    const Attributes grouped{{"samples", samples}};
    const Attributes attributes{{"samples", samples}, {"epsilon", 1e-5}, {"relu", true}};
    for (const LocalNode& node :
         {WholeNode("batch_norm_statistics", grouped, {x, vector}),
          WholeNode("batch_norm_gradient_sums", attributes, {x, x, stats, vector, vector, vector})}) {
      SCOPED_TRACE(node.op->name + " samples " + std::to_string(samples));
      const std::vector<Values> inputs = SuitableInputs(node, 3), first = OnFibers(node, inputs);
      ExpectNear(node, first, Reference(node, inputs));
      for (uint64_t seed = 2; seed <= 4; ++seed) ASSERT_EQ(OnFibers(node, inputs, {}, seed), first) << "seed " << seed;
    }
  }
}

TEST(FiberKernels, ComputePartsOfConvolutions) {
  for (const auto& [seed, whole, part, inputs, part_inputs] : RandomParts(20)) {
    const Values expected = ExpectedOfPart(Reference(whole, inputs)[0], part);
    EXPECT_LE(Distance(OnFibers(part, part_inputs)[0], expected), kTolerance) << "seed " << seed;
  }
}

// Longer than a block, a tile, a chunk or a row of threads, and one more or less.
TEST(FiberKernels, TakeSizesAroundTheirBlocks) {
  for (const int64_t n : {1, 3, 255, 256, 257, 1023, 1025, 4099}) {
    const TensorType flat{DType::kF32, {n}}, rows{DType::kF32, {n, 3}}, classes{DType::kF32, {2, n}};
    const std::vector<LocalNode> nodes = {
        WholeNode("add", {}, {flat, flat, flat}), WholeNode("relu", {}, {flat}),
        WholeNode("sum_of_squares", {}, {flat}),  WholeNode("bias_grad", {}, {rows}),
        WholeNode("bias_grad", {}, {classes}),    WholeNode("log_softmax", {}, {classes})};
    for (const LocalNode& node : nodes) {
      SCOPED_TRACE(node.op->name + " of " + std::to_string(n));
      const std::vector<Values> inputs = SuitableInputs(node, static_cast<uint64_t>(n));
      ExpectNear(node, OnFibers(node, inputs), Reference(node, inputs));
    }
  }
}

// A rank that holds no samples: sums are zero, element-wise results are nothing.
TEST(FiberKernels, TakeNoSamples) {
  LocalNode bias = WholeNode("bias_grad", {}, {TensorType{DType::kF32, {8, 40}}});
  Narrow(*bias.inputs[0], 0, 3, 3);
  EXPECT_EQ(OnFibers(bias, {{}}), std::vector<Values>{Values(40, 0)});
  LocalNode stats = WholeNode("batch_norm_statistics", {{"samples", int64_t{0}}},
                              {TensorType{DType::kF32, {6, 5}}, TensorType{DType::kF32, {5}}});
  Narrow(*stats.inputs[0], 0, 6, 6);
  EXPECT_EQ(OnFibers(stats, {{}, Values(5, 1)}), std::vector<Values>{Values(10, 0)});
  LocalNode relu = WholeNode("relu", {}, {TensorType{DType::kF32, {6, 5}}});
  Narrow(*relu.inputs[0], 0, 6, 6);
  Narrow(relu.outputs[0], 0, 6, 6);
  const absl::StatusOr<FiberRun> run = RunOnFibers(relu, {{}});
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->launches, 0);
}

}  // namespace
}  // namespace partita::fibers
