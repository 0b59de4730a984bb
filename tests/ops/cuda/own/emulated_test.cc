// The kernels of ops/cuda without a GPU against the host's f64 reference, over the table of tests/ops/host/cases.cc.
#include "tests/ops/cuda/own/emulated.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "graph/ir/op_definition.h"
#include "ops/cuda/kernel_table.h"
#include "ops/functors/elementwise.h"
#include "ops/functors/updates/updates.h"
#include "ops/host/host_kernels.h"
#include "tests/ops/host/columns/column_case.h"
#include "tests/ops/host/kernel_case.h"
#include "tests/ops/host/large_mean.h"
#include "tests/ops/host/part_cases.h"

namespace partita {
namespace {

bool IsUpdate(const LocalNode& node) {
  const std::vector<std::string> updates = UpdateNames();
  return std::ranges::find(updates, node.op->name) != updates.end();
}

class EmulatedKernel : public testing::TestWithParam<KernelCase> {};

// Gradients of attention are several products and a softmax one after the other, all in f32, and those of a row of
// scores add up to 0.
double ToleranceOf(const LocalNode& node, DType dtype) {
  const bool attention = node.op->name.starts_with("scaled_dot_product_attention");
  return attention && dtype == DType::kF32 ? 1e-5 : Tolerance(dtype);
}

// Aligned and unaligned addresses (the latter go element by element).
TEST_P(EmulatedKernel, EqualsTheHostsReference) {
  const KernelCase& c = GetParam();
  const std::vector<Values> expected = Outputs(InF64(c.node), c.inputs, {.reference_only = true});
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    const LocalNode node = dtype == DType::kF32 ? c.node : InF64(c.node);
    if (dtype == DType::kF64 && node.outputs[0].dtype == DType::kBF16) continue;  // a result of f32 at most
    for (const int64_t misalignment : {0, 8}) {
      ExpectNear(Emulated(node, c.inputs, {.misalignment = misalignment}), expected, ToleranceOf(node, dtype),
                 std::string(Name(dtype)) + " misalignment " + std::to_string(misalignment));
    }
  }
}

bool Refuses(const LocalNode& node) {
  NoForeignKernels none("no library here");
  return !CudaKernelEntries(node.op->name).back().prepare(node, none).ok();
}

// Computed in f32 and rounded once; what stays f32 (statistics, gradients of biases) is as good as in f32. Losses, what
// they are made from, and updates refuse bf16.
TEST_P(EmulatedKernel, EqualsTheHostsReferenceInBf16) {
  static const auto& wide = *new std::set<std::string>{"softmax",
                                                       "softmax_grad",
                                                       "softmax_normalize",
                                                       "softmax_normalize_grad",
                                                       "log_softmax",
                                                       "log_softmax_grad",
                                                       "softmax_cross_entropy",
                                                       "softmax_cross_entropy_grad",
                                                       "row_maximum",
                                                       "row_exponentials",
                                                       "row_exponentials_grad",
                                                       "log_softmax_normalize",
                                                       "log_softmax_normalize_grad",
                                                       "cross_entropy",
                                                       "cross_entropy_logits_grad",
                                                       "cross_entropy_sum_grad",
                                                       "accuracy",
                                                       "mean_squared_error",
                                                       "mean_squared_error_grad",
                                                       "over",
                                                       "merge_rows",
                                                       "sampled_cross_entropy",
                                                       "sampled_cross_entropy_grad",
                                                       "sgd_rows",
                                                       "adam_rows",
                                                       "adagrad_rows",
                                                       "sum_of_squares",
                                                       "clip_scale"};
  const KernelCase& c = GetParam();
  if (c.node.members > 1) GTEST_SKIP() << "updates are of f32";
  const LocalNode node = InBf16(c.node);
  const bool is_wide = wide.count(node.op->name) > 0 || IsUpdate(node);
  ASSERT_EQ(Refuses(node), is_wide);
  if (is_wide) return;
  const std::vector<Values> inputs = Stored(node, c.inputs);
  const std::vector<Values> expected = Outputs(InF64(c.node), inputs, {.reference_only = true});
  for (const int64_t misalignment : {0, 8}) {
    const std::vector<Values> found = Emulated(node, inputs, {.misalignment = misalignment});
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_LE(Distance(found[i], expected[i]), Tolerance(DType::kF32) + RoundingOnGpu(node, i))
          << "output " << i << " misalignment " << misalignment;
    }
  }
}

TEST_P(EmulatedKernel, InPlaceChangesNothing) {
  const KernelCase& c = GetParam();
  if (c.node.op->in_place.empty()) GTEST_SKIP() << "not in place";
  EXPECT_EQ(Emulated(c.node, c.inputs, {.in_place = true}), Emulated(c.node, c.inputs));
}

TEST_P(EmulatedKernel, ColumnsOfWiderRowsAreToTheBitWhatDenseOnesAre) {
  const KernelCase& c = GetParam();
  const ColumnOperands& columns = CudaKernelEntries(c.node.op->name).back().columns;
  if (columns.inputs.empty() && columns.outputs.empty()) GTEST_SKIP() << "takes no columns";
  for (const LocalNode& dense : {c.node, InF64(c.node), InBf16(c.node)}) {
    const std::vector<Values> expected = Emulated(dense, c.inputs);
    for (const auto& [first, more] : {std::pair<int64_t, int64_t>{4, 4}, {3, 2}, {0, 1}}) {
      const LocalNode node = WithColumns(dense, columns, first, more);
      const std::vector<Values> found = Emulated(node, InRows(node, c.inputs));
      ASSERT_EQ(found.size(), expected.size());
      for (size_t o = 0; o < found.size(); ++o) {
        EXPECT_EQ(Distance(found[o], InRows(node, node.inputs.size() + o, expected[o])), 0)
            << "output " << o << " from column " << first;
      }
    }
  }
}

TEST_P(EmulatedKernel, OfAStepThatIsNotAppliedChangesNothing) {
  const KernelCase& c = GetParam();
  const std::vector<Values> inputs = NotApplied(c.node, c.inputs);
  if (inputs.empty()) GTEST_SKIP() << "has no gate";
  for (const bool in_place : {false, true}) {
    ExpectKept(c.node, inputs, Emulated(c.node, inputs, {.in_place = in_place}));
  }
}

// Each launch of a kernel is refused once: an error, and nothing is launched behind it.
TEST_P(EmulatedKernel, AnyLaunchMayFail) {
  const KernelCase& c = GetParam();
  const CudaKernelEntry& entry = CudaKernelEntries(c.node.op->name).back();
  CountingQueue whole;
  ASSERT_TRUE(Emulate(entry, c.node, c.inputs, {}, whole).ok());
  EXPECT_GE(whole.calls, 1);
  for (int n = 1; n <= whole.calls; ++n) {
    CountingQueue queue;
    queue.fail_at = n;
    EXPECT_EQ(Emulate(entry, c.node, c.inputs, {}, queue).status().code(), absl::StatusCode::kUnavailable);
    EXPECT_EQ(queue.calls, n);
  }
}

// Element-wise arithmetic, choices of elements and maxima are the very functors of the host: the same bits.
TEST_P(EmulatedKernel, ElementwiseOpsHaveTheHostsBits) {
  static const auto& exact = *new std::set<std::string>{"constant",
                                                        "cast",
                                                        "pixels",
                                                        "reshape",
                                                        "stop_gradient",
                                                        "scale",
                                                        "over",
                                                        "bias",
                                                        "add",
                                                        "dropout",
                                                        "noise",
                                                        "positions",
                                                        "concat",
                                                        "slice",
                                                        "slice_grad",
                                                        "embedding",
                                                        "max_pool",
                                                        "max_pool_grad",
                                                        "accuracy",
                                                        "halo_exchange_adjoint",
                                                        "increment",
                                                        "all_finite",
                                                        "clip_scale",
                                                        "learning_rate",
                                                        "expand",
                                                        "expand_like",
                                                        "sum_grad",
                                                        "mean_squared_error_grad",
                                                        "batch_norm_normalize",
                                                        "batch_norm_normalize_add",
                                                        "batch_norm_inference",
                                                        "batch_norm_running",
                                                        "batch_norm_input_grad"};
  const KernelCase& c = GetParam();
  const std::string& op = c.node.op->name;
  const bool elementwise = PlaceOf(UnaryOps(), op) >= 0 || PlaceOf(BinaryOps(), op) >= 0;
  if (!elementwise && !IsUpdate(c.node) && exact.count(op) == 0) GTEST_SKIP() << "sums in another order";
  EXPECT_EQ(Emulated(c.node, c.inputs), Outputs(c.node, c.inputs, {.reference_only = true}));
  // In bf16 too, but where a result is rounded after each of several parts.
  const LocalNode narrow = c.node.members > 1 ? c.node : InBf16(c.node);
  if (op == "halo_exchange_adjoint" || Refuses(narrow)) return;
  EXPECT_EQ(Emulated(narrow, c.inputs), Outputs(narrow, c.inputs, {.reference_only = true}));
}

INSTANTIATE_TEST_SUITE_P(Cuda, EmulatedKernel, testing::ValuesIn(AllCases()),
                         [](const auto& info) { return info.param.name; });

TEST(CudaKernelTable, HasTheOpsOfTheHost) { EXPECT_EQ(CudaKernelOps(), HostKernelOps()); }

// A NaN in the data comes out wherever the host lets it out.
TEST(EmulatedKernels, KeepNaN) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const KernelCase& c : AllCases()) {
    const bool floating = !c.node.inputs.empty() && c.node.inputs[0]->dtype == DType::kF32;
    if (!floating || c.node.op->name == "cast" || c.inputs[0].size() < 2) continue;
    std::vector<Values> inputs = c.inputs;
    inputs[0][inputs[0].size() / 2] = nan;
    ExpectNear(Emulated(c.node, inputs), Outputs(InF64(c.node), inputs, {.reference_only = true}),
               ToleranceOf(c.node, DType::kF32), c.name);
  }
}

// A rank that holds no samples writes the zeros of its partial sums.
TEST(EmulatedKernels, SumsOverNothingAreZero) {
  LocalNode bias = WholeNode("bias_grad", {}, {TensorType{DType::kF32, {8, 40}}});
  Narrow(*bias.inputs[0], 0, 3, 3);
  EXPECT_EQ(Emulated(bias, {{}}), std::vector<Values>{Values(40, 0)});
  LocalNode weights = WholeNode("conv2d_weight_grad",
                                {{"stride", IntList{1, 1}},
                                 {"padding", IntList{1, 1, 1, 1}},
                                 {"dilation", IntList{1, 1}},
                                 {"groups", int64_t{1}},
                                 {"shape", IntList{3, 3, 3, 2}}},
                                {TensorType{DType::kF32, {2, 5, 5, 2}}, TensorType{DType::kF32, {2, 5, 5, 3}}});
  Narrow(*weights.inputs[0], 0, 1, 1);
  Narrow(*weights.inputs[1], 0, 1, 1);
  EXPECT_EQ(Emulated(weights, {{}, {}}), std::vector<Values>{Values(54, 0)});
  LocalNode stats = WholeNode("batch_norm_statistics", {{"samples", int64_t{0}}},
                              {TensorType{DType::kF32, {6, 5}}, TensorType{DType::kF32, {5}}});
  Narrow(*stats.inputs[0], 0, 6, 6);
  EXPECT_EQ(Emulated(stats, {{}, Values(5, 1)}), std::vector<Values>{Values(10, 0)});
  LocalNode loss = WholeNode("softmax_cross_entropy", {},
                             {TensorType{DType::kF32, {4, 5}}, TensorType{DType::kI32, {4}}, std::nullopt});
  Narrow(*loss.inputs[0], 0, 4, 4);
  Narrow(*loss.inputs[1], 0, 4, 4);
  EXPECT_EQ(Emulated(loss, {{}, {}, {}}), std::vector<Values>{Values(1, 0)});
}

TEST(EmulatedBatchNorm, ALargeMeanDoesNotMatter) {
  ExpectMeanDoesNotMatter(
      [](const LocalNode& node, const std::vector<Values>& inputs) { return Emulated(node, inputs); });
}

// The mask of a block is that part of the whole mask.
TEST(EmulatedDropout, DependsOnTheGlobalIndexAlone) {
  const LocalNode whole = WholeNode("dropout", {{"rate", 0.4}, {"key", std::string("k")}},
                                    {TensorType{DType::kF32, {4, 6, 7}}, std::nullopt});
  const Values x = RandomValues(4 * 6 * 7, 5), y = Emulated(whole, {x, {}})[0];
  for (int dimension = 0; dimension < 3; ++dimension) {
    LocalNode part = whole;
    Narrow(*part.inputs[0], dimension, 1, 4);
    Narrow(part.outputs[0], dimension, 1, 4);
    EXPECT_EQ(Emulated(part, {Part(x, *part.inputs[0]), {}})[0], Part(y, part.outputs[0])) << dimension;
  }
}

// A gradient that is not finite reaches every pixel of its window, and no other.
TEST(EmulatedPooling, SpreadsGradientsThatAreNotFinite) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<std::pair<Values, const char*>> planted = {
      {{infinity}, "infinite"}, {{infinity, -infinity}, "of both signs"}, {{std::nan("")}, "NaN"}};
  for (const auto& [values, what] : planted) {
    for (const bool count_padding : {true, false}) {
      const LocalNode node = WholeNode("average_pool_grad",
                                       {{"kernel", IntList{3, 3}},
                                        {"stride", IntList{1, 1}},
                                        {"padding", IntList{1, 1, 1, 1}},
                                        {"count_padding", count_padding},
                                        {"shape", IntList{1, 6, 6, 8}}},
                                       {TensorType{DType::kF32, {1, 6, 6, 8}}});
      for (const LocalNode& typed : {node, InBf16(node)}) {
        std::vector<Values> inputs = Stored(typed, SuitableInputs(typed, 3));
        for (size_t i = 0; i < values.size(); ++i) inputs[0][(14 + i) * 8 + 3] = values[i];
        const Values found = Emulated(typed, inputs)[0];
        const double distance = Distance(found, Outputs(typed, inputs, {.reference_only = true})[0]);
        EXPECT_LE(distance, Tolerance(DType::kF32) + RoundingOnGpu(typed, 0)) << what;
      }
    }
  }
}

TEST(EmulatedKernels, ComputePartsOfConvolutions) {
  for (const auto& [seed, whole, part, inputs, part_inputs] : RandomParts(80)) {
    const Values y = Outputs(InF64(whole), inputs, {.reference_only = true})[0];
    for (const DType dtype : {DType::kF32, DType::kF64}) {
      const Values found = Emulated(dtype == DType::kF32 ? part : InF64(part), part_inputs)[0];
      EXPECT_LE(Distance(found, ExpectedOfPart(y, part)), Tolerance(dtype)) << "seed " << seed << " " << Name(dtype);
    }
  }
}

// A rank that holds some of a convolution's groups.
TEST(EmulatedKernels, ComputeSomeOfTheGroups) {
  for (const auto& [first, whole, part, inputs, part_inputs] : PartsOfGroups()) {
    const Values y = Part(Outputs(InF64(whole), inputs, {.reference_only = true})[0], part.outputs[0]);
    for (const LocalNode& node : {part, InF64(part)}) {
      EXPECT_LE(Distance(Emulated(node, part_inputs)[0], y), Tolerance(node.outputs[0].dtype))
          << whole.op->name << " from group " << first;
    }
  }
}

TEST(EmulatedKernels, RefuseADTypeThatIsNoFloat) {
  LocalNode relu = WholeNode("relu", {}, {TensorType{DType::kF32, {3}}});
  relu.inputs[0]->dtype = relu.outputs[0].dtype = DType::kI32;
  NoForeignKernels none("no library here");
  const auto refused = CudaKernelEntries("relu").back().prepare(relu, none);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().message(), "dtype is i32, allowed are f32, f64 and bf16");
}

}  // namespace
}  // namespace partita
