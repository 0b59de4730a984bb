// The kernels of ops/cuda without a GPU: their .cu files compiled as C++, where a launch is a loop over the same bodies
// in the same partition (ops/cuda/loops/loops.h), against the host's f64 reference over the table of
// tests/ops/host/cases.cc.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "graph/ir/op_definition.h"
#include "ops/cuda/kernel/columns.h"
#include "ops/cuda/kernel_table.h"
#include "ops/cuda/launch/optimizer.h"
#include "ops/functors/elementwise.h"
#include "ops/functors/updates/updates.h"
#include "ops/host/host_kernels.h"
#include "ops/registry.h"
#include "ops/values/node_geometry.h"
#include "ops/values/update_attributes.h"
#include "tests/ops/host/kernel_case.h"
#include "tests/ops/host/large_mean.h"
#include "tests/ops/host/mixed_updates.h"
#include "tests/ops/host/part_cases.h"
#include "tests/ops/host/step_scalars.h"

namespace partita {
namespace {

// The largest difference allowed, relative to the largest magnitude (or 1). Sums are taken in double, so f32 results
// differ by a few roundings; exp and log of f32 are the library's.
double Tolerance(DType dtype) { return dtype == DType::kF64 ? 1e-13 : 2e-6; }

bool IsUpdate(const LocalNode& node) {
  const std::vector<std::string> updates = UpdateNames();
  return std::ranges::find(updates, node.op->name) != updates.end();
}

// Copies here and now; refuses the call `fail_at`, the first is 1.
class CountingQueue : public LaunchQueue {
 public:
  int calls = 0, fail_at = 0;

  LaunchError Launch(const void*, const LaunchShape& shape, void**) override {
    EXPECT_GT(shape.blocks, 0);
    EXPECT_LE(shape.lanes * shape.depth, 1024);
    return Call();
  }
  LaunchError Copy(void* to, const void* from, int64_t bytes) override {
    if (Call() != kLaunched) return LaunchError::kQueue;
    std::memcpy(to, from, static_cast<size_t>(bytes));
    return kLaunched;
  }
  LaunchError Zero(void* to, int64_t bytes) override {
    if (Call() != kLaunched) return LaunchError::kQueue;
    std::memset(to, 0, static_cast<size_t>(bytes));
    return kLaunched;
  }
  CUstream_st* BeginWork() override { return nullptr; }

 private:
  LaunchError Call() { return ++calls == fail_at ? LaunchError::kQueue : kLaunched; }
};

absl::StatusOr<std::vector<Values>> Emulate(const CudaKernelEntry& entry, const LocalNode& node,
                                            const std::vector<Values>& inputs, const RunOptions& options,
                                            CountingQueue& queue) {
  NoForeignKernels none("no library here");
  ASSIGN_OR_RETURN(const PreparedCudaKernel prepared, entry.prepare(node, none));
  EXPECT_TRUE(prepared.deterministic);
  return RunOnBuffers(node, inputs, options, prepared.workspace_bytes, std::string(entry.family) + "_" + node.op->name,
                      [&](const KernelArguments& arguments) -> absl::Status {
                        ASSIGN_OR_RETURN(const CudaEnqueue enqueue, prepared.bind(AtColumns(node, arguments)));
                        return enqueue(&queue);
                      });
}

std::vector<Values> Emulated(const LocalNode& node, const std::vector<Values>& inputs, const RunOptions& options = {}) {
  CountingQueue queue;
  absl::StatusOr<std::vector<Values>> result =
      Emulate(CudaKernelEntries(node.op->name).back(), node, inputs, options, queue);
  EXPECT_TRUE(result.ok()) << node.op->name << ": " << result.status();
  return result.ok() ? *std::move(result) : std::vector<Values>(node.outputs.size());
}

void ExpectNear(const std::vector<Values>& found, const std::vector<Values>& expected, double tolerance,
                const std::string& what) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_LE(Distance(found[i], expected[i]), tolerance) << what << " output " << i;
  }
}

class EmulatedKernel : public testing::TestWithParam<KernelCase> {};

// Aligned and unaligned addresses (the latter go element by element).
TEST_P(EmulatedKernel, EqualsTheHostsReference) {
  const KernelCase& c = GetParam();
  const std::vector<Values> expected = Outputs(InF64(c.node), c.inputs, {.reference_only = true});
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    const LocalNode node = dtype == DType::kF32 ? c.node : InF64(c.node);
    for (const int64_t misalignment : {0, 8}) {
      ExpectNear(Emulated(node, c.inputs, {.misalignment = misalignment}), expected, Tolerance(dtype),
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
      const double rounding = node.outputs[i].dtype == DType::kBF16 ? 0x1p-8 : 0;
      EXPECT_LE(Distance(found[i], expected[i]), Tolerance(DType::kF32) + rounding)
          << "output " << i << " misalignment " << misalignment;
    }
  }
}

TEST_P(EmulatedKernel, InPlaceChangesNothing) {
  const KernelCase& c = GetParam();
  if (c.node.op->in_place.empty()) GTEST_SKIP() << "not in place";
  EXPECT_EQ(Emulated(c.node, c.inputs, {.in_place = true}), Emulated(c.node, c.inputs));
}

// Makes an operand `width` columns, from `first` on, of rows of `pitch` elements.
void WidenRows(LocalNode& node, size_t operand, int64_t first, int64_t pitch) {
  node.within[operand].offset.back() -= first;
  node.within[operand].size.back() = pitch;
}

// What the rows hold; NaN beside the columns.
Values InRows(const LocalNode& node, size_t operand, const Values& values) {
  if (!node.HasColumns(operand)) return values;
  const Box &box = node.operand(operand)->box, &within = node.within[operand];
  const int64_t width = box.size.back(), pitch = within.size.back(), first = box.offset.back() - within.offset.back();
  Values rows(static_cast<size_t>(within.elements()), std::numeric_limits<double>::quiet_NaN());
  for (int64_t i = 0; i < box.elements(); ++i) rows[i / width * pitch + first + i % width] = values[i];
  return rows;
}

// The node with all operands in rows that the kernel takes as columns: no two of the same width.
LocalNode WithColumns(LocalNode node, const ColumnOperands& columns, int64_t first, int64_t more) {
  for (const auto& input : node.inputs) node.within.push_back(input ? input->box : Box{});
  for (const LocalTensor& output : node.outputs) node.within.push_back(output.box);
  const int64_t width = node.outputs.empty() ? 0 : InputShape(node, 0).back();
  for (const size_t i : columns.inputs) WidenRows(node, i, first, width + (more += 4));
  for (const size_t o : columns.outputs) WidenRows(node, node.inputs.size() + o, first, width + (more += 4));
  return node;
}

TEST_P(EmulatedKernel, ColumnsOfWiderRowsAreToTheBitWhatDenseOnesAre) {
  const KernelCase& c = GetParam();
  const ColumnOperands& columns = CudaKernelEntries(c.node.op->name).back().columns;
  if (columns.inputs.empty() && columns.outputs.empty()) GTEST_SKIP() << "takes no columns";
  for (const LocalNode& dense : {c.node, InF64(c.node), InBf16(c.node)}) {
    const std::vector<Values> expected = Emulated(dense, c.inputs);
    for (const auto& [first, more] : {std::pair<int64_t, int64_t>{4, 4}, {3, 2}, {0, 1}}) {
      const LocalNode node = WithColumns(dense, columns, first, more);
      std::vector<Values> inputs = c.inputs;
      for (size_t i = 0; i < inputs.size(); ++i) inputs[i] = InRows(node, i, inputs[i]);
      const std::vector<Values> found = Emulated(node, inputs);
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
                                                        "reshape",
                                                        "stop_gradient",
                                                        "scale",
                                                        "bias",
                                                        "add",
                                                        "dropout",
                                                        "concat",
                                                        "slice",
                                                        "slice_grad",
                                                        "max_pool",
                                                        "max_pool_grad",
                                                        "accuracy",
                                                        "halo_exchange_adjoint",
                                                        "increment",
                                                        "all_finite",
                                                        "clip_scale",
                                                        "learning_rate",
                                                        "average_pool_grad",
                                                        "expand",
                                                        "sum_grad",
                                                        "mean_squared_error_grad",
                                                        "batch_norm_normalize",
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

// Labels that are no class cannot be refused on a device: they leave the host's error as a word.
TEST(EmulatedLoss, ALabelThatIsNoClassLeavesAWord) {
  for (const int64_t classes : {5, 100}) {
    const TensorType logits{DType::kF32, {8, classes}}, labels{DType::kI32, {8}}, row{DType::kF32, {8}};
    const std::optional<TensorType> scalar = TensorType{DType::kF32, {}}, none;
    const std::map<std::string, std::vector<std::optional<TensorType>>> inputs_of = {
        {"softmax_cross_entropy", {logits, labels, none}},
        {"softmax_cross_entropy_grad", {logits, labels, none, scalar}},
        {"accuracy", {logits, labels, none}},
        {"cross_entropy", {logits, labels, none, row, row}},
        {"cross_entropy_logits_grad", {logits, labels, none, scalar}}};
    for (const auto& [op, types] : inputs_of) {
      LocalNode node = WholeNode(op, {}, types);
      for (auto& input : node.inputs) {  // a rank's half of the batch
        if (input.has_value() && !input->global.empty()) Narrow(*input, 0, 4, 8);
      }
      if (!node.outputs[0].global.empty()) Narrow(node.outputs[0], 0, 4, 8);
      for (const double bad : {-7.0, static_cast<double>(classes), 2147483647.0, 1.0}) {
        std::vector<Values> inputs = {RandomValues(4 * classes, 3), {0, 1, bad, 2}, {}};
        for (size_t i = 3; i < types.size(); ++i) inputs.push_back(Values(types[i]->shape.empty() ? 1 : 4, 1));
        NoForeignKernels libraries("no library here");
        const PreparedCudaKernel kernel = *CudaKernelEntries(op).back().prepare(node, libraries);
        uint64_t word = 0;
        const auto run = [&](const KernelArguments& arguments) -> absl::Status {
          KernelArguments asked = arguments;
          asked.fault = &word;
          CountingQueue queue;
          return (*kernel.bind(asked))(&queue);
        };
        ASSERT_TRUE(RunOnBuffers(node, inputs, {}, kernel.workspace_bytes, op, run).ok());
        if (bad == 1) {
          EXPECT_EQ(word, 0u) << op;
          continue;
        }
        ASSERT_NE(word, 0u) << op;
        EXPECT_EQ(kernel.explain(word).message(), fmt::format("sample 6 of the batch has label {}, allowed are 0 to {}",
                                                              static_cast<int64_t>(bad), classes - 1));
      }
    }
  }
}

// Loss, gradient and accuracy of such a label are not numbers.
TEST(EmulatedLoss, ALabelThatIsNoClassGivesNaN) {
  for (const int64_t classes : {5, 100}) {
    const TensorType logits{DType::kF32, {4, classes}}, labels{DType::kI32, {4}}, scalar{DType::kF32, {}};
    for (const double bad : {-1.0, static_cast<double>(classes)}) {
      const std::vector<Values> inputs = {RandomValues(4 * classes, 3), {0, 1, bad, 2}, {}, {1}};
      const LocalNode loss = WholeNode("softmax_cross_entropy", {}, {logits, labels, std::nullopt});
      EXPECT_TRUE(std::isnan(Emulated(loss, inputs)[0][0]));
      const LocalNode accuracy = WholeNode("accuracy", {}, {logits, labels, std::nullopt});
      EXPECT_TRUE(std::isnan(Emulated(accuracy, inputs)[0][0]));
      const LocalNode grad = WholeNode("softmax_cross_entropy_grad", {}, {logits, labels, std::nullopt, scalar});
      const Values d = Emulated(grad, inputs)[0];
      for (int64_t i = 0; i < 4 * classes; ++i) EXPECT_EQ(std::isnan(d[i]), i / classes == 2) << i;
    }
  }
}

// A launch may leave out a scalar that is 1 (OpDefinition::one_if_absent).
TEST(EmulatedLoss, AnAbsentGradientOfTheLossIsOne) {
  for (const int64_t classes : {5, 100}) {
    const TensorType logits{DType::kF32, {4, classes}}, labels{DType::kI32, {4}}, scalar{DType::kF32, {}};
    const LocalNode whole = WholeNode("softmax_cross_entropy_grad", {}, {logits, labels, std::nullopt, scalar});
    LocalNode without = whole;
    without.inputs[3].reset();
    const std::vector<Values> inputs = {RandomValues(4 * classes, 3), {0, 1, 4, 2}, {}, {1}};
    EXPECT_EQ(Emulated(without, inputs), Emulated(whole, inputs));
    for (const bool reference_only : {false, true}) {
      const RunOptions options{.reference_only = reference_only};
      EXPECT_EQ(Outputs(without, inputs, options), Outputs(whole, inputs, options));
    }
  }
}

// What blocks of classes give adds up, whichever of them has a row's label.
TEST(EmulatedLoss, SharesOfBlocksOfClassesAddUp) {
  for (const int64_t classes : {9, 700}) {
    for (const double smoothing : {0.0, 0.1}) {
      const TensorType logits{DType::kF32, {6, classes}}, labels{DType::kI32, {6}}, row{DType::kF32, {6}};
      const LocalNode whole =
          WholeNode("cross_entropy", {{"label_smoothing", smoothing}}, {logits, labels, row, row, row});
      const std::vector<Values> inputs = SuitableInputs(whole, 3);
      const int64_t cuts[] = {0, classes / 3, classes / 3, classes};
      double sum = 0;
      for (int block = 0; block < 3; ++block) {
        LocalNode part = whole;
        Narrow(*part.inputs[0], 1, cuts[block], cuts[block + 1]);
        std::vector<Values> of_block = inputs;
        of_block[0] = Part(inputs[0], *part.inputs[0]);
        sum += Emulated(part, of_block)[0][0];
      }
      const double expected = Outputs(InF64(whole), inputs, {.reference_only = true})[0][0];
      EXPECT_NEAR(sum, expected, 1e-5 * std::max(1.0, std::abs(expected))) << classes;
    }
  }
}

// A NaN in the data comes out wherever the host lets it out.
TEST(EmulatedKernels, KeepNaN) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const KernelCase& c : AllCases()) {
    const bool floating = !c.node.inputs.empty() && c.node.inputs[0]->dtype == DType::kF32;
    if (!floating || c.node.op->name == "cast" || c.inputs[0].size() < 2) continue;
    std::vector<Values> inputs = c.inputs;
    inputs[0][inputs[0].size() / 2] = nan;
    ExpectNear(Emulated(c.node, inputs), Outputs(InF64(c.node), inputs, {.reference_only = true}), 2e-6, c.name);
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

// Running statistics of many batch norms in one launch: each as if it were alone. So many do not fit into one.
TEST(EmulatedBatchNorm, RunningStatisticsGoInOneLaunch) {
  for (const auto& [members, launches] : std::vector<std::pair<int, int>>{{1, 1}, {2, 1}, {60, 1}, {500, 2}}) {
    std::vector<LocalNode> nodes;
    for (int64_t m = 0; m < members; ++m) {
      const TensorType stats{DType::kF64, {m % 3 + 1, 2, m * 37 % 300 + 1}}, vector{DType::kF32, {m * 37 % 300 + 1}};
      nodes.push_back(WholeNode("batch_norm_running", {{"momentum", m % 2 == 0 ? 0.1 : 0.3}, {"count", 7 * m + 2}},
                                {stats, vector, vector, TensorType{DType::kI32, {}}}));
    }
    const LocalNode together = Together(nodes);
    const std::vector<Values> inputs = SuitableInputs(together, 5);
    CountingQueue queue;
    const auto found = Emulate(CudaKernelEntries("batch_norm_running").back(), together, inputs, {}, queue);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(queue.calls, launches);
    for (size_t m = 0; m < nodes.size(); ++m) {
      const auto first = inputs.begin() + static_cast<std::ptrdiff_t>(4 * m);
      const std::vector<Values> alone = Emulated(nodes[m], {first, first + 4});
      EXPECT_EQ((*found)[2 * m], alone[0]) << m;
      EXPECT_EQ((*found)[2 * m + 1], alone[1]) << m;
    }
  }
}

// Many parameters of odd sizes, some empty, in few launches: each as if it were alone.
template <typename F>
void ManyTensorsGoInOneLaunch(const GroupUpdate<F>& update) {
  const float rate = 0.1f, clip = 0.5f, other_clip = 0.25f;
  const int32_t iteration = 4, apply = 1;
  const launch::UpdateAddresses scalars{&rate, &apply, F::kCountsSteps ? &iteration : nullptr};
  const launch::UpdateSet<F> sets[] = {{update, &clip}, {update, nullptr}, {{update.update, 0.5}, &other_clip}};
  using Tensors = std::vector<std::vector<float>>;
  std::vector<Tensors> before(2 + F::kSlots.size());  // w, g and the slots
  for (int64_t t = 0; t < 600; ++t) {
    const int64_t n = t % 7 == 3 ? 0 : t * t % 301 + 1;
    for (size_t i = 0; i < before.size(); ++i) {
      const Values values = RandomValues(n, static_cast<uint64_t>(7 * t) + i);
      before[i].emplace_back(values.begin(), values.end());
      if (i >= 2) std::ranges::for_each(before[i].back(), [](float& value) { value = std::abs(value); });
    }
  }
  const auto tensor = [](std::vector<Tensors>& own, size_t t) {
    launch::UpdateTensor<F> at;
    at.w = at.new_w = own[0][t].data();
    at.g = own[1][t].data();
    for (size_t s = 0; s < F::kSlots.size(); ++s) at.slots[s] = at.new_slots[s] = own[2 + s][t].data();
    at.elements = static_cast<int64_t>(own[0][t].size());
    return at;
  };
  std::vector<Tensors> alone = before, many = before;
  std::vector<launch::UpdateTensor<F>> tensors;
  CountingQueue one_by_one, together;
  for (size_t t = 0; t < before[0].size(); ++t) {
    tensors.push_back(tensor(many, t));
    tensors.back().set = static_cast<int>(t % 3);
    const launch::UpdateTensor<F> one = tensor(alone, t);
    if (one.elements == 0) continue;
    ASSERT_TRUE(launch::Update(DType::kF32, &sets[t % 3], 1, scalars, &one, 1, &one_by_one) == kLaunched);
  }
  const int count = static_cast<int>(tensors.size());
  ASSERT_TRUE(launch::Update(DType::kF32, sets, 3, scalars, tensors.data(), count, &together) == kLaunched);
  EXPECT_EQ(together.calls, 2) << F::kName;
  EXPECT_EQ(many, alone) << F::kName;
  for (size_t i = 0; i < before.size(); ++i) EXPECT_EQ(many[i] == before[i], i == 1) << F::kName;
}

TEST(EmulatedUpdates, ManyTensorsGoInOneLaunch) {
#define PARTITA_TRY(F) ManyTensorsGoInOneLaunch(UpdateWith<F>(*CompleteAttributes(*Ops().Find(F::kName), {})));
  PARTITA_UPDATES(PARTITA_TRY)
#undef PARTITA_TRY
}

TEST(EmulatedUpdates, ScalarsOfAStepGoInOneLaunch) {
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    for (const bool clipped : {true, false}) {
      ExpectScalarsAreTheNodes(dtype, clipped, [](const LocalNode& node, const std::vector<Values>& inputs) {
        return Emulated(node, inputs);
      });
    }
  }
}

// Also at addresses that no wide access reaches.
TEST(EmulatedUpdates, InMixedPrecisionAreTheCasts) {
  for (const UpdateRule& rule : UpdateRules()) {
    for (const bool applied : {true, false}) {
      for (const int64_t misalignment : {0, 8}) {
        ExpectMixedUpdatesAreCasts(rule, applied, [&](const LocalNode& node, const std::vector<Values>& inputs) {
          return Emulated(node, inputs, {.misalignment = misalignment});
        });
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
