// Launches that no case of tests/ops/host/cases.cc comes to, on fibers.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "ops/cuda/kernel_table.h"
#include "ops/cuda/launch/contraction.h"
#include "ops/cuda/launch/optimizer.h"
#include "ops/functors/epilogue.h"
#include "ops/functors/geometry.h"
#include "ops/functors/updates/updates.h"
#include "runtime/base/bf16.h"
#include "tests/ops/cuda/fibers/cases.h"
#include "tests/ops/cuda/fibers/fiber_queue.h"
#include "tests/ops/cuda/fibers/own_kernel.h"
#include "tests/ops/cuda/many_updates.h"
#include "tests/ops/host/columns/column_case.h"
#include "tests/ops/host/joint_nodes.h"
#include "tests/ops/host/mixed_updates.h"

namespace partita::fibers {
namespace {

std::vector<Values> RunNode(const LocalNode& node, const std::vector<Values>& inputs) { return OnFibers(node, inputs); }

void ExpectTheReference(const LocalNode& node, const std::vector<Values>& inputs) {
  for (const bool off_by_one : {false, true}) {
    SCOPED_TRACE(node.op->name + (off_by_one ? " off by one" : " aligned"));
    ExpectNear(node, OnFibers(node, inputs, {.off_by_one = off_by_one}), Reference(node, inputs));
  }
}

TEST(FurtherLaunches, CastEveryTypeToEveryType) {
  const std::vector<DType> types = {DType::kF32, DType::kF64, DType::kBF16, DType::kI32, DType::kU8};
  for (const DType from : types) {
    for (const DType to : types) {
      SCOPED_TRACE(std::string(Name(from)) + " to " + Name(to));
      const LocalNode node = WholeNode("cast", {{"dtype", std::string(Name(to))}}, {TensorType{from, {1031}}});
      Values x(1031);
      for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i % 251);
      ExpectTheReference(node, {x});
    }
  }
}

TEST(FurtherLaunches, FillConstantsOfEveryType) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kI32, DType::kU8}) {
    const Attributes attributes{{"dtype", std::string(Name(dtype))}, {"shape", IntList{7, 53}}, {"value", 3.0}};
    ExpectTheReference(WholeNode("constant", attributes, {}), {});
  }
}

TEST(FurtherLaunches, TransposeElementsOfEveryWidth) {
  for (const DType dtype : {DType::kF64, DType::kI32, DType::kBF16, DType::kU8}) {
    const LocalNode node =
        WholeNode("transpose", {{"permutation", IntList{0, 2, 1}}}, {TensorType{dtype, {3, 35, 67}}});
    Values x(3 * 35 * 67);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i % 251);
    ExpectTheReference(node, {x});
  }
}

TEST(FurtherLaunches, AddThreeInBf16) {
  const TensorType x{DType::kF32, {3, 341}};
  const LocalNode node = InBf16(WholeNode("add", {}, {x, x, x}));
  ExpectTheReference(node, Stored(node, SuitableInputs(node, 3)));
}

// More rows of few classes than one block takes.
TEST(FurtherLaunches, LossAndAccuracyOfManyRows) {
  const TensorType logits{DType::kF32, {1031, 7}}, labels{DType::kI32, {1031}}, weights{DType::kF32, {1031}};
  for (const char* const op : {"softmax_cross_entropy", "accuracy"}) {
    const Attributes ignoring{{"ignore_index", int64_t{1}}, {"reduction", "sum"}};
    for (const Attributes& attributes : {Attributes(), ignoring}) {
      const LocalNode node = WholeNode(op, attributes, {logits, labels, weights});
      ExpectTheReference(node, SuitableInputs(node, 3));
    }
  }
  const LocalNode count =
      WholeNode("count_labels", {{"ignore_index", int64_t{1}}, {"dtype", std::string("f32")}}, {labels, weights});
  ExpectTheReference(count, SuitableInputs(count, 3));
}

// Of f64 a run has other widths than of f32.
TEST(FurtherLaunches, RunsOfF64) {
  const TensorType x{DType::kF64, {2, 5, 6, 8}}, y{DType::kF64, {2, 3, 3, 8}}, means{DType::kF64, {2, 8}};
  const Attributes attributes{{"kernel", IntList{3, 2}}, {"stride", IntList{2, 2}}, {"padding", IntList{1, 1, 0, 0}}};
  std::vector<LocalNode> nodes = {WholeNode("max_pool", attributes, {x}),
                                  WholeNode("max_pool_grad", attributes, {x, y, y}),
                                  WholeNode("global_average_pool_grad", {{"shape", IntList{2, 5, 6, 8}}}, {means}),
                                  WholeNode("add", {}, {x, x, x, x, x})};
  for (const bool count_padding : {true, false}) {
    Attributes average = attributes;
    average.Set("count_padding", count_padding);
    nodes.push_back(WholeNode("average_pool", average, {x}));
    average.Set("shape", IntList{2, 5, 6, 8});
    nodes.push_back(WholeNode("average_pool_grad", average, {y}));
  }
  for (const LocalNode& node : nodes) ExpectTheReference(node, SuitableInputs(node, 3));
}

// Strides that 32 bits cannot multiply: indices of 64 bits.
TEST(FurtherLaunches, PoolingAtHugeStrides) {
  const TensorType x{DType::kF32, {2, 5, 6, 8}}, y{DType::kF32, {2, 1, 1, 8}};
  for (const bool count_padding : {true, false}) {
    Attributes attributes{{"kernel", IntList{3, 2}},
                          {"stride", IntList{int64_t{1} << 30, int64_t{1} << 30}},
                          {"padding", IntList{1, 0, 0, 0}}};
    std::vector<LocalNode> nodes = {WholeNode("max_pool", attributes, {x}),
                                    WholeNode("max_pool_grad", attributes, {x, y, y})};
    attributes.Set("count_padding", count_padding);
    nodes.push_back(WholeNode("average_pool", attributes, {x}));
    attributes.Set("shape", IntList{2, 5, 6, 8});
    nodes.push_back(WholeNode("average_pool_grad", attributes, {y}));
    for (const LocalNode& node : nodes) {
      for (const LocalNode& typed : {node, InBf16(node)}) {
        ExpectTheReference(typed, Stored(typed, SuitableInputs(typed, 3)));
      }
    }
  }
}

// Of columns of wider rows the same bits, and nothing beside the columns is touched.
TEST(FurtherLaunches, TakeColumnsOfWiderRows) {
  for (const KernelCase& c : CasesUpTo(1e4)) {
    const ColumnOperands& columns = CudaKernelEntries(c.node.op->name).back().columns;
    if (columns.inputs.empty() && columns.outputs.empty()) continue;
    for (const LocalNode& dense : {c.node, InBf16(c.node)}) {
      const std::vector<Values> inputs = Stored(dense, c.inputs), expected = OnFibers(dense, inputs);
      for (const auto& [first, more] : {std::pair<int64_t, int64_t>{4, 4}, {3, 2}, {0, 1}}) {
        const LocalNode node = WithColumns(dense, columns, first, more);
        const std::vector<Values> found = OnFibers(node, InRows(node, inputs));
        ASSERT_EQ(found.size(), expected.size());
        for (size_t o = 0; o < found.size(); ++o) {
          EXPECT_EQ(Distance(found[o], InRows(node, node.inputs.size() + o, expected[o])), 0) << c.name << " " << first;
        }
      }
    }
  }
}

// Around the sizes of blocks and of what they keep: one launch where the rows are few, two where they are not; in any
// order of threads the same bits. Outputs may lie at x and at dy.
TEST(FurtherLaunches, BatchNormsOfFewRowsAreOneLaunch) {
  struct Sizes {
    Shape x;
    int64_t samples;
    bool f64_is_small = true;
  };
  const std::vector<Sizes> sizes = {
      {{2, 1}, 0},           {{64, 12}, 0},        {{257, 3}, 0}, {{6, 5, 7, 9}, 2}, {{4, 32, 32, 9}, 0, false},
      {{4097, 3}, 0, false}, {{4100, 4}, 5, false}};
  for (const Sizes& s : sizes) {
    const int64_t c = s.x.back(), rows = Elements(s.x) / c;
    const TensorType x{DType::kF32, s.x}, vector{DType::kF32, {c}};
    const TensorType stats{DType::kF64, {s.samples == 0 ? 1 : s.x[0] / s.samples, 2, c}};
    const Attributes attributes{{"samples", s.samples}, {"relu", rows % 2 == 1}};
    const LocalNode forward = WholeNode("batch_norm_forward", attributes, {x, vector, vector, vector});
    const LocalNode backward = WholeNode("batch_norm_backward", attributes, {x, x, stats, vector, vector, vector});
    const LocalNode add = WholeNode("batch_norm_forward_add", attributes, {x, vector, vector, vector, x});
    const LocalNode relu = WholeNode("batch_norm_backward_relu", attributes, {x, x, stats, vector, vector, vector, x});
    for (const LocalNode& node : {forward, backward, add, relu}) {
      for (const LocalNode& typed : {node, InBf16(node), InF64(node)}) {
        const bool small = rows <= 4096 && (typed.inputs[0]->dtype != DType::kF64 || s.f64_is_small);
        SCOPED_TRACE(node.op->name + " " + Name(typed.inputs[0]->dtype) + " " + ToString(s.x));
        const std::vector<Values> inputs = Stored(typed, SuitableInputs(node, 3)), expected = Reference(node, inputs);
        const std::vector<Values> first = OnFibers(typed, inputs);
        ExpectNear(typed, first, expected);
        ExpectNear(typed, OnFibers(typed, inputs, {.off_by_one = true}), expected);
        for (uint64_t seed = 2; seed <= 3; ++seed) {
          const absl::StatusOr<FiberRun> run = RunOnFibers(typed, inputs, {}, seed);
          ASSERT_TRUE(run.ok()) << run.status();
          EXPECT_EQ(run->launches, small ? 1 : 2);
          EXPECT_EQ(run->outputs, first) << "seed " << seed;
        }
      }
    }
  }
}

TEST(FurtherLaunches, RunningStatisticsOfManyBatchNorms) {
  std::vector<LocalNode> nodes;
  for (int64_t m = 0; m < 60; ++m) {
    const TensorType stats{DType::kF64, {m % 3 + 1, 2, m * 37 % 300 + 1}}, vector{DType::kF32, {m * 37 % 300 + 1}};
    nodes.push_back(WholeNode("batch_norm_running", {{"momentum", 0.1}, {"count", 7 * m + 2}},
                              {stats, vector, vector, TensorType{DType::kI32, {}}}));
  }
  const LocalNode together = Together(nodes);
  const std::vector<Values> inputs = SuitableInputs(together, 5);
  ExpectNear(together, OnFibers(together, inputs), Reference(together, inputs));
}

// The norm of many gradients: the same bits in any order of blocks and threads.
TEST(FurtherLaunches, SquaresOfManyTensorsAreOneLaunch) {
  for (const auto& [count, launches] :
       std::vector<std::pair<int, int>>{{1, 1}, {7, 1}, {120, 1}, {300, 1}, {1000, 2}}) {
    for (const bool narrow : {false, true}) {
      SCOPED_TRACE(std::to_string(count) + (narrow ? " with bf16" : ""));
      const LocalNode all = SquaresOf(DType::kF32, UnevenSizes(count), narrow);
      const std::vector<Values> inputs = Stored(all, SuitableInputs(all, 5)), first = OnFibers(all, inputs);
      ExpectNear(all, first, Reference(SquaresOf(DType::kF32, UnevenSizes(count), false), inputs));
      for (uint64_t seed = 2; seed <= 4; ++seed) {
        const absl::StatusOr<FiberRun> run = RunOnFibers(all, inputs, {.off_by_one = seed == 4}, seed);
        ASSERT_TRUE(run.ok()) << run.status();
        EXPECT_EQ(run->outputs, first) << "seed " << seed;
        EXPECT_EQ(run->launches, launches);
      }
    }
  }
}

TEST(FurtherLaunches, SquaresOfManyTensorsAreTheNodes) {
  for (const int count : {1, 7, 120}) {
    for (const bool narrow : {false, true}) {
      for (const DType dtype : {DType::kF32, DType::kF64}) ExpectSquaresAreTheNodes(dtype, count, narrow, RunNode);
    }
  }
}

// More than a launch of few reads, and more than a launch of many.
TEST(FurtherLaunches, AddMany) {
  for (const int count : {5, 44, 300}) {
    for (const int64_t elements : {1, 24, 341}) {
      const LocalNode wide =
          WholeNode("add", {}, std::vector<std::optional<TensorType>>(count, TensorType{DType::kF32, {elements}}));
      for (const LocalNode& node : {wide, InBf16(wide)}) {
        const std::vector<Values> inputs = Stored(node, SuitableInputs(node, 3));
        if (count < 256) {
          ExpectTheReference(node, inputs);
          const absl::StatusOr<FiberRun> run = RunOnFibers(node, inputs);
          ASSERT_TRUE(run.ok()) << run.status();
          EXPECT_EQ(run->launches, 1) << count;
        } else if (node.outputs[0].dtype == DType::kF32) {
          ExpectTheReference(node, inputs);
        }
      }
    }
  }
}

TEST(FurtherLaunches, ScalarsOfAStepGoInOne) {
  for (const bool clipped : {true, false}) ExpectScalarsAreTheNodes(DType::kF32, clipped, RunNode);
}

template <typename F>
void UpdatesOfManyTensors() {
  uint64_t seed = 0;
  ExpectManyAreAsEachAlone<F>(60, 1, [&seed](const auto* sets, int count, const auto& scalars, const auto& tensors) {
    Memory memory;
    for (int s = 0; s < count; ++s) {
      if (sets[s].clip != nullptr) memory.Add("clip", sets[s].clip, 4, false);
    }
    memory.Add("rate", scalars.rate, 4, false);
    memory.Add("apply", scalars.apply, 4, false);
    if (scalars.iteration != nullptr) memory.Add("iteration", scalars.iteration, 4, false);
    for (const launch::UpdateTensor<F>& tensor : tensors) {
      memory.Add("w", tensor.w, 4 * tensor.elements, true);
      memory.Add("g", tensor.g, 4 * tensor.elements, false);
      if constexpr (ReadsNorms<F>) {
        memory.Add("norms", tensor.w_squares, 4, false);
        memory.Add("norms", tensor.g_squares, 4, false);
      }
      for (size_t s = 0; s < F::kSlots.size(); ++s) memory.Add("slot", tensor.slots[s], 4 * tensor.elements, true);
    }
    FiberQueue queue(++seed, memory);
    const int tensor_count = static_cast<int>(tensors.size());
    EXPECT_EQ(launch::Update(DType::kF32, sets, count, scalars, tensors.data(), tensor_count, &queue), kLaunched);
    EXPECT_EQ(queue.failure(), "");
    return queue.launches();
  });
}

TEST(FurtherLaunches, UpdateManyTensors) {
#define PARTITA_TRY(F) UpdatesOfManyTensors<F>();
  PARTITA_UPDATES(PARTITA_TRY)
#undef PARTITA_TRY
}

// A rule with many slots, one with none; the others differ in what they compute alone.
TEST(FurtherLaunches, UpdatesInMixedPrecisionAreTheCasts) {
  for (const UpdatePhase& rule : UpdatePhases()) {
    if (rule.slots.size() == 1) continue;
    for (const bool applied : {true, false}) ExpectMixedUpdatesAreCasts(rule, applied, RunNode);
  }
}

// As after a library's product, which has none: of the pixels of `conv`, which may be a part of larger images.
template <typename T>
void ExpectEpilogue(DType dtype, const Convolution& conv, bool biased, int activation, size_t off) {
  const Images& size = conv.images;
  std::vector<Compute<T>> bias;
  for (int64_t c = 0; c < size.out_c && biased; ++c) bias.push_back(static_cast<Compute<T>>(0.25 * (c % 9 - 4)));
  std::vector<T> y(off);
  const int64_t elements = size.n * conv.y.rows * conv.y.columns * size.out_c;
  for (const double value : RandomValues(elements, 5)) y.push_back(static_cast<T>(value));
  std::vector<T> expected = y;
  const Epilogue<Compute<T>> epilogue{biased ? bias.data() : nullptr, activation};
  for (int64_t i = 0; i < size.n * size.out_h * size.out_w * size.out_c; ++i) {
    const int64_t c = i % size.out_c, pixel = i / size.out_c, row = pixel / size.out_w;
    const int64_t at = conv.y.At(row / size.out_h, row % size.out_h, pixel % size.out_w) * size.out_c + c;
    T& value = expected[off + static_cast<size_t>(at)];
    value = static_cast<T>(epilogue(static_cast<Compute<T>>(value), c));
  }
  Memory memory;
  memory.Add("y", y.data() + off, elements * static_cast<int64_t>(sizeof(T)), true);
  memory.Add("bias", bias.data(), static_cast<int64_t>(bias.size() * sizeof(Compute<T>)), false);
  FiberQueue queue(7, memory);
  EXPECT_EQ(launch::AddEpilogue(dtype, conv, {epilogue.bias, activation}, y.data() + off, &queue), kLaunched);
  EXPECT_EQ(queue.failure(), "");
  for (size_t i = 0; i < y.size(); ++i) ASSERT_EQ(static_cast<double>(y[i]), static_cast<double>(expected[i])) << i;
}

TEST(FurtherLaunches, EpiloguesAlone) {
  for (const int64_t channels : {1, 5, 8, 64}) {
    Convolution whole, part;
    whole.images = part.images = {.n = 2, .out_h = 3, .out_w = 5, .out_c = channels};
    whole.y = {0, 3, 5};
    part.y = {9, 6, 8};
    for (const Convolution& conv : {whole, part}) {
      for (const bool biased : {false, true}) {
        for (const size_t off : {0, 1}) {
          ExpectEpilogue<float>(DType::kF32, conv, biased, 0, off);
          ExpectEpilogue<Bf16>(DType::kBF16, conv, biased, 0, off);
          ExpectEpilogue<float>(DType::kF32, conv, biased, kNoActivation, off);
        }
      }
    }
  }
}

}  // namespace
}  // namespace partita::fibers
