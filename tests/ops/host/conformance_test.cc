// Every kernel against the f64 reference, over the table of cases.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "graph/ir/op_definition.h"
#include "ops/host/host_kernels.h"
#include "ops/host/products/weight_tile.h"
#include "ops/host/winograd/loops.h"
#include "ops/registry.h"
#include "ops/values/node_geometry.h"
#include "tests/ops/host/kernel_case.h"

namespace partita {
namespace {

// The largest difference allowed, relative to the largest magnitude (or 1): f32 rounds at 6e-8, and sums of n terms
// lose up to n roundings. f64 own loops differ from the f64 reference by the order of sums alone.
double Tolerance(const std::string& op, DType dtype) {
  if (dtype == DType::kF64) return 1e-13;
  static const auto& contractions = *new std::set<std::string>{
      "conv2d",      "conv2d_epilogue", "conv2d_input_grad", "conv2d_input_grad_sum", "conv2d_weight_grad",
      "matmul",      "matmul_epilogue", "matmul_bias_grad",  "matmul_relu_mask",      "matmul_relu_grad",
      "batch_matmul"};
  if (contractions.count(op) > 0) return 5e-6;
  if (op.rfind("batch_norm", 0) == 0 || op.rfind("layer_norm", 0) == 0 || op.rfind("bias_grad", 0) == 0) return 5e-6;
  if (op.rfind("lstm", 0) == 0 || op.rfind("attention", 0) == 0) return 5e-6;
  if (op.rfind("scaled_dot_product_attention", 0) == 0) return 1e-5;  // gradients of scores cancel
  if (op == "row_exponentials" || op == "softmax_grad") return 2e-6;  // a sum over a row
  if (op == "dropout" || op == "concat" || op == "slice" || op == "transpose" || op == "max_pool") return 1e-7;
  return 1e-6;
}

std::string Family(const std::string& kernel, const std::string& op) {
  return kernel.substr(0, kernel.size() - op.size() - 1);
}

bool HasNarrow(const LocalNode& node) {
  const auto narrow = [](const LocalTensor& tensor) { return tensor.dtype == DType::kBF16; };
  return std::ranges::any_of(node.outputs, narrow) ||
         std::ranges::any_of(node.inputs, [&](const auto& input) { return input.has_value() && narrow(*input); });
}

// Filters whose gradients are made of tiles.
bool HasTiles(const Shape& w) { return HasWeightTiles() && w[3] >= 24 && (w[1] * w[2] > 1 || Elements(w) >= 1 << 18); }

// Windows of 3 x 3 that move by one over enough pixels, of enough channels.
bool HasWinograd(const LocalNode& node) {
  if (HasNarrow(node) || WinogradLoopsOfThisMachine().empty()) return false;
  const std::string& op = node.op->name;
  const Attributes& attributes = node.attributes;
  const Shape& w = op == "conv2d_weight_grad" ? node.outputs[0].global : node.inputs[1]->global;
  const Shape& y = op == "conv2d_weight_grad" ? node.inputs[1]->global : node.outputs[0].global;
  const IntList one{1, 1};
  const bool dense = attributes.Ints("stride") == one && attributes.Ints("dilation") == one;
  const int64_t tiles = y[0] * ((y[1] + 1) / 2) * ((y[2] + 1) / 2);
  return w[1] == 3 && w[2] == 3 && dense && attributes.Int("groups") == 1 && std::min(w[0], w[3]) >= 16 && tiles >= 64;
}

// Products that repay being packed.
bool HasPacked(const LocalNode& node) {
  const auto [m, n, k, transpose_x, transpose_w] = MakeProductSizes(node);
  const bool f32 = node.outputs[0].dtype == DType::kF32 && !HasNarrow(node);
  const bool large = std::min({m, n, k}) >= 64 && m * n * k >= 1 << 20;
  return f32 && large && EpilogueOf(node).activation == kNoActivation;
}

// A kernel that serves some types or attributes of its op alone.
bool Serves(const std::string& family, const LocalNode& node) {
  if (family == "packed") return HasPacked(node);
  if (family == "winograd") return HasWinograd(node);
  if (family == "grouped") return HasGrouped(node);
  if (family == "fast" && HasAxesApart(node)) return false;
  if (family == "fast" && node.op->name == "conv2d_weight_grad") return HasTiles(node.outputs[0].shape());
  if (node.op->name != "cast" || family != "fast") return true;
  const DType from = node.inputs[0]->dtype, to = node.outputs[0].dtype;
  return (from == DType::kF32 && to == DType::kBF16) || (from == DType::kBF16 && to == DType::kF32);
}

class EveryKernel : public testing::TestWithParam<KernelCase> {};

// Aligned and unaligned addresses, one thread and two. A kernel that refuses the dtype is not asked for it.
TEST_P(EveryKernel, EqualsTheReference) {
  const KernelCase& c = GetParam();
  const std::string& op = c.node.op->name;
  const std::vector<Values> expected = Outputs(InF64(c.node), c.inputs, {.reference_only = true});
  for (const std::string& kernel : HostKernelNames(op)) {
    const std::string family = Family(kernel, op);
    for (const DType dtype : {DType::kF32, DType::kF64}) {
      const bool f32_only =
          family == "onednn" || family == "winograd" || family == "packed" ||
          (family == "fast" && op != "concat" && op != "slice" && op != "slice_grad" && op != "transpose");
      if (dtype == DType::kF64 && f32_only) continue;
      const LocalNode node = dtype == DType::kF32 ? c.node : InF64(c.node);
      if (!Serves(family, node)) continue;
      for (const int threads : {1, 2}) {
        for (const int64_t misalignment : {0, 8}) {
          const std::vector<Values> found =
              Outputs(node, c.inputs, {.family = family, .threads = threads, .misalignment = misalignment});
          ASSERT_EQ(found.size(), expected.size());
          for (size_t i = 0; i < found.size(); ++i) {
            EXPECT_LE(Distance(found[i], expected[i]), Tolerance(op, dtype))
                << kernel << " output " << i << " " << Name(dtype) << " threads " << threads << " misalignment "
                << misalignment;
          }
        }
      }
    }
  }
}

// In bf16 a result is what f64 gives for the same bf16 inputs, rounded once (half of 2^-7, relative to the largest
// magnitude), but for what f32 loses on the way; statistics and sums that stay f32 are as good as in f32.
TEST_P(EveryKernel, EqualsTheReferenceInBf16) {
  const KernelCase& c = GetParam();
  const std::string& op = c.node.op->name;
  if (c.node.members > 1) GTEST_SKIP() << "updates are of f32";
  const LocalNode node = InBf16(c.node);
  if (!HasNarrow(node)) GTEST_SKIP() << "has nothing in bf16";
  const std::vector<Values> inputs = Stored(node, c.inputs);
  const std::vector<Values> expected = Outputs(InF64(c.node), inputs, {.reference_only = true});
  for (const std::string& kernel : HostKernelNames(op)) {
    if (!Serves(Family(kernel, op), node)) continue;
    for (const int threads : {1, 2}) {
      for (const int64_t misalignment : {0, 8}) {
        const std::vector<Values> found =
            Outputs(node, inputs, {.family = Family(kernel, op), .threads = threads, .misalignment = misalignment});
        ASSERT_EQ(found.size(), expected.size());
        for (size_t i = 0; i < found.size(); ++i) {
          const double rounding = node.outputs[i].dtype == DType::kBF16 ? 0x1p-8 : 0;
          EXPECT_LE(Distance(found[i], expected[i]), Tolerance(op, DType::kF32) + rounding)
              << kernel << " output " << i << " threads " << threads << " misalignment " << misalignment;
        }
      }
    }
  }
}

// Where the op's definition allows it, an output at its input's address gets the same bits.
TEST_P(EveryKernel, InPlaceChangesNothing) {
  const KernelCase& c = GetParam();
  if (c.node.op->in_place.empty()) GTEST_SKIP() << "not in place";
  for (const std::string& kernel : HostKernelNames(c.node.op->name)) {
    RunOptions options{.family = Family(kernel, c.node.op->name), .threads = 2};
    const std::vector<Values> apart = Outputs(c.node, c.inputs, options);
    options.in_place = true;
    EXPECT_EQ(Outputs(c.node, c.inputs, options), apart) << kernel;
    if (c.node.members > 1) continue;
    const std::vector<Values> in_bf16 = Outputs(InBf16(c.node), c.inputs, options);
    options.in_place = false;
    EXPECT_EQ(Outputs(InBf16(c.node), c.inputs, options), in_bf16) << kernel << " in bf16";
  }
}

TEST_P(EveryKernel, OfAStepThatIsNotAppliedChangesNothing) {
  const KernelCase& c = GetParam();
  const std::vector<Values> inputs = NotApplied(c.node, c.inputs);
  if (inputs.empty()) GTEST_SKIP() << "has no gate";
  for (const std::string& kernel : HostKernelNames(c.node.op->name)) {
    SCOPED_TRACE(kernel);
    for (const bool in_place : {false, true}) {
      const std::string family = Family(kernel, c.node.op->name);
      ExpectKept(c.node, inputs, Outputs(c.node, inputs, {.family = family, .threads = 2, .in_place = in_place}));
    }
  }
}

TEST_P(EveryKernel, GivesTheSameBitsAgain) {
  const KernelCase& c = GetParam();
  for (const std::string& kernel : HostKernelNames(c.node.op->name)) {
    RunOptions options{.family = Family(kernel, c.node.op->name), .threads = 2};
    if (!Serves(options.family, c.node)) continue;
    const std::vector<Values> first = Outputs(c.node, c.inputs, options);
    EXPECT_EQ(Outputs(c.node, c.inputs, options), first) << kernel;
    if (options.family == "onednn") continue;  // plans its work for the number of threads
    options.threads = 1;
    EXPECT_EQ(Outputs(c.node, c.inputs, options), first) << kernel << " with one thread";
  }
}

INSTANTIATE_TEST_SUITE_P(Host, EveryKernel, testing::ValuesIn(AllCases()),
                         [](const auto& info) { return info.param.name; });

TEST(HostKernelTable, EveryOpWithAKernelHasACase) {
  std::set<std::string> tested;
  for (const KernelCase& c : AllCases()) tested.insert(c.node.op->name);
  for (const std::string& op : HostKernelOps()) EXPECT_EQ(tested.count(op), 1u) << op;
}

// All ops but moves, sources and those that stand for others.
TEST(HostKernelTable, EveryOpThatComputesHasAKernel) {
  const std::set<std::string> without = {"input",     "parameter",
                                         "state",     "batch_norm",
                                         "attention", "scaled_dot_product_attention",
                                         "lstm",      "sampled_softmax_cross_entropy"};
  for (const std::string& name : Ops().Names()) {
    if (Ops().Find(name)->move) continue;
    EXPECT_EQ(HostKernelNames(name).empty(), without.count(name) > 0) << name;
    if (!HostKernelNames(name).empty()) {
      EXPECT_EQ(HostKernelNames(name).back(), "reference_" + name);
    }
  }
}

}  // namespace
}  // namespace partita
