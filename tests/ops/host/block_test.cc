// Parts of nodes, as ranks see them: empty blocks, and parts that together make the whole.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "graph/ir/op_definition.h"
#include "ops/host/host_kernels.h"
#include "tests/ops/host/kernel_case.h"

namespace partita {
namespace {

TensorType F32(Shape shape) { return {DType::kF32, std::move(shape)}; }

// The families that run f32 nodes of an op.
std::vector<std::string> Families(const std::string& op) {
  std::vector<std::string> families;
  for (const std::string& kernel : HostKernelNames(op)) families.push_back(kernel.substr(0, kernel.find('_')));
  return families;
}

bool RefusesEmptyBlocks(const std::string& family) {
  return family == "onednn" || family == "winograd" || family == "packed" || family == "grouped";
}

// Runs a node narrowed to a part: `narrow` sets the boxes; the inputs are cut from the whole ones.
template <typename F>
std::vector<Values> RunPart(LocalNode node, const std::vector<Values>& inputs, const RunOptions& options,
                            const F& narrow) {
  narrow(node);
  std::vector<Values> parts;
  for (size_t i = 0; i < inputs.size(); ++i) {
    parts.push_back(node.inputs[i].has_value() ? Part(inputs[i], *node.inputs[i]) : Values{});
  }
  return Outputs(node, parts, options);
}

Values Sum(const Values& a, const Values& b) {
  Values sum = a;
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += b[i];
  return sum;
}

Values Joined(const Values& a, const Values& b) {
  Values joined = a;
  joined.insert(joined.end(), b.begin(), b.end());
  return joined;
}

// Ops of which a rank without samples gives a partial sum: zeros. Inputs `split` have the samples in dimension 0.
struct PartialOp {
  LocalNode node;
  std::vector<int> split;
};

std::vector<PartialOp> PartialOps() {
  const TensorType x = F32({6, 8, 8, 16}), vector = F32({16}), stats{DType::kF64, {1, 2, 16}};
  const Attributes norm{{"epsilon", 1e-3}, {"relu", true}};
  // As many channels and pixels as every kernel takes.
  const TensorType image = F32({6, 12, 12, 24}), image_grad = F32({6, 12, 12, 16});
  const Attributes conv{{"padding", IntList{1, 1, 1, 1}}, {"shape", IntList{16, 3, 3, 24}}};
  const TensorType labels{DType::kI32, {6}};
  return {
      {WholeNode("conv2d_weight_grad", conv, {image, image_grad}), {0, 1}},
      {WholeNode("matmul", {{"transpose_x", true}}, {F32({6, 5}), F32({6, 7})}), {0, 1}},
      {WholeNode("bias_grad", {}, {x}), {0}},
      {WholeNode("batch_norm_statistics", {}, {x, vector}), {0}},
      // A group as large as the batch is the whole batch, of which a rank may hold a part.
      {WholeNode("batch_norm_statistics", {{"samples", int64_t{6}}}, {x, vector}), {0}},
      {WholeNode("batch_norm_gradient_sums", norm, {x, x, stats, vector, vector, vector}), {0, 1}},
      {WholeNode("softmax_cross_entropy", {}, {F32({6, 10}), labels, F32({6})}), {0, 1, 2}},
      {WholeNode("accuracy", {}, {F32({6, 10}), labels, std::nullopt}), {0, 1}},
      {WholeNode("embedding_grad", {{"rows", int64_t{9}}}, {std::nullopt, labels, F32({6, 8})}), {1, 2}},
      {WholeNode("sum_of_squares", {}, {F32({6, 8})}), {0}},
  };
}

TEST(PartialSums, OfNoSamplesAreZero) {
  for (const PartialOp& partial : PartialOps()) {
    const std::vector<Values> inputs = SuitableInputs(partial.node, 3);
    for (const std::string& family : Families(partial.node.op->name)) {
      if (RefusesEmptyBlocks(family)) continue;
      const auto outputs = RunPart(partial.node, inputs, {.family = family}, [&](LocalNode& node) {
        for (const int i : partial.split) Narrow(*node.inputs[i], 0, 2, 2);
      });
      for (const Values& output : outputs)
        EXPECT_EQ(output, Values(output.size(), 0)) << partial.node.op->name << family;
    }
  }
}

// Also: means divide by the global batch, statistics count the global elements.
TEST(PartialSums, OfTwoPartsAddUpToTheWhole) {
  for (const PartialOp& partial : PartialOps()) {
    const std::vector<Values> inputs = SuitableInputs(partial.node, 4);
    const std::vector<Values> whole = Outputs(InF64(partial.node), inputs, {.reference_only = true});
    for (const std::string& family : Families(partial.node.op->name)) {
      if (family == "packed" || family == "grouped") continue;  // refuse so few rows, and dense groups
      const auto part = [&](int64_t begin, int64_t end) {
        return RunPart(partial.node, inputs, {.family = family}, [&](LocalNode& node) {
          for (const int i : partial.split) Narrow(*node.inputs[i], 0, begin, end);
        });
      };
      const std::vector<Values> first = part(0, 2), second = part(2, 6);
      for (size_t i = 0; i < whole.size(); ++i) {
        EXPECT_LE(Distance(Sum(first[i], second[i]), whole[i]), 5e-6) << partial.node.op->name << " " << family;
      }
    }
  }
}

TEST(PartialSums, GlobalAveragePoolOverRowsOfTheImage) {
  const LocalNode node = WholeNode("global_average_pool", {}, {F32({3, 7, 4, 20})});
  const std::vector<Values> inputs = SuitableInputs(node, 5);
  const Values whole = Outputs(InF64(node), inputs, {.reference_only = true})[0];
  for (const std::string& family : Families("global_average_pool")) {
    const auto part = [&](int64_t begin, int64_t end) {
      return RunPart(node, inputs, {.family = family}, [&](LocalNode& n) { Narrow(*n.inputs[0], 1, begin, end); })[0];
    };
    EXPECT_LE(Distance(Sum(part(0, 3), part(3, 7)), whole), 1e-6) << family;
    EXPECT_EQ(part(7, 7), Values(60, 0)) << family;
  }
}

TEST(EmptyBlocks, ConvolutionWithoutInputChannelsIsZero) {
  const LocalNode node = WholeNode("conv2d", {}, {F32({2, 4, 4, 6}), F32({5, 3, 3, 6})});
  const std::vector<Values> inputs = SuitableInputs(node, 6);
  const auto outputs = RunPart(node, inputs, {}, [](LocalNode& n) {
    Narrow(*n.inputs[0], 3, 6, 6);
    Narrow(*n.inputs[1], 3, 6, 6);
  });
  EXPECT_EQ(outputs[0], Values(2 * 2 * 2 * 5, 0));
}

TEST(EmptyBlocks, MatMulOverNothingIsZero) {
  const LocalNode node = WholeNode("matmul", {}, {F32({3, 6}), F32({6, 4})});
  const auto outputs = RunPart(node, SuitableInputs(node, 6), {}, [](LocalNode& n) {
    Narrow(*n.inputs[0], 1, 2, 2);
    Narrow(*n.inputs[1], 0, 2, 2);
  });
  EXPECT_EQ(outputs[0], Values(12, 0));
}

TEST(EmptyBlocks, BatchMatMulOverNothingIsZero) {
  const LocalNode node = WholeNode("batch_matmul", {{"transpose_x", true}}, {F32({2, 6, 3}), F32({2, 6, 4})});
  const auto outputs = RunPart(node, SuitableInputs(node, 6), {}, [](LocalNode& n) {
    for (auto& input : n.inputs) Narrow(*input, 1, 2, 2);
  });
  EXPECT_EQ(outputs[0], Values(24, 0));
}

// All inputs and outputs empty in the first dimension: nothing is read or written, nothing fails.
TEST(EmptyBlocks, NoSamplesAreNoWork) {
  for (const KernelCase& c : AllCases()) {
    const std::string& op = c.node.op->name;
    if (c.node.outputs[0].global.size() != 4 || op == "conv2d_weight_grad") continue;
    const bool slice = op == "slice" || op == "slice_grad";
    const bool may_mix_samples = slice || op == "sum" || op == "mean";
    if (may_mix_samples && c.node.inputs[0]->global[0] != c.node.outputs[0].global[0]) continue;
    for (const std::string& family : Families(op)) {
      if (RefusesEmptyBlocks(family)) continue;
      if (op == "cast" && family == "fast") continue;  // not of all types
      if (family == "fast" && HasAxesApart(c.node)) continue;
      LocalNode node = c.node;
      for (auto& input : node.inputs) {
        if (input.has_value() && input->global.size() == 4 && input->global[0] == node.outputs[0].global[0]) {
          Narrow(*input, 0, 0, 0);
        }
      }
      const int64_t samples = node.outputs[0].global[0];
      for (LocalTensor& output : node.outputs) {
        if (output.global.size() == 4 && output.global[0] == samples) Narrow(output, 0, 0, 0);
      }
      std::vector<Values> inputs = c.inputs;
      for (size_t i = 0; i < inputs.size(); ++i) {
        if (node.inputs[i].has_value() && node.inputs[i]->elements() == 0) inputs[i].clear();
      }
      EXPECT_TRUE(Outputs(node, inputs, {.family = family, .threads = 2})[0].empty()) << c.name << " " << family;
    }
  }
}

// What is drawn belongs to the global element: cut anywhere, the parts are those of the whole.
void ExpectSameOnEveryPart(const std::string& op, const Attributes& attributes, bool of_a_step = true) {
  const TensorType x = F32({5, 6, 7, 9}), step{DType::kI32, {}};
  const LocalNode node = of_a_step ? WholeNode(op, attributes, {x, step}) : WholeNode(op, attributes, {x});
  const std::vector<Values> inputs = SuitableInputs(node, 8);
  for (const std::string& family : Families(op)) {
    const RunOptions options{.family = family, .threads = 2};
    const Values whole = Outputs(node, inputs, options)[0];
    for (int dimension = 0; dimension < 4; ++dimension) {
      const auto narrow = [&](int64_t begin, int64_t end) {
        return [=](LocalNode& n) {
          Narrow(*n.inputs[0], dimension, begin, end);
          Narrow(n.outputs[0], dimension, begin, end);
        };
      };
      for (const auto& [begin, end] : {std::pair<int64_t, int64_t>{0, 2}, {2, node.outputs[0].global[dimension]}}) {
        LocalTensor part = node.outputs[0];
        Narrow(part, dimension, begin, end);
        EXPECT_EQ(RunPart(node, inputs, options, narrow(begin, end))[0], Part(whole, part)) << family << dimension;
      }
    }
  }
}

TEST(Dropout, MaskDoesNotDependOnTheSplit) {
  ExpectSameOnEveryPart("dropout", {{"rate", 0.4}, {"key", std::string("drop")}});
}

TEST(Noise, DoesNotDependOnTheSplit) {
  for (const char* const distribution : {"normal", "uniform"}) {
    ExpectSameOnEveryPart("noise", {{"distribution", std::string(distribution)}, {"key", std::string("drawn")}});
  }
}

TEST(Positions, AreThoseOfTheWholeTensor) {
  for (int64_t axis = 0; axis < 4; ++axis) {
    const LocalNode node = WholeNode("positions", {{"axis", axis}, {"first_sample", int64_t{3}}}, {F32({5, 6, 7, 9})});
    const Values whole = Outputs(node, {Values(5 * 6 * 7 * 9, 0)})[0];
    for (size_t i = 0; i < whole.size(); ++i) {
      const int64_t at[] = {static_cast<int64_t>(i) / 378 + 3, static_cast<int64_t>(i) / 63 % 6,
                            static_cast<int64_t>(i) / 9 % 7, static_cast<int64_t>(i) % 9};
      ASSERT_EQ(whole[i], static_cast<double>(at[axis])) << i;
    }
    ExpectSameOnEveryPart("positions", {{"axis", axis}}, false);
  }
}

TEST(Noise, IsDistributedAsItSaysAndFollowsSeedKeyAndIteration) {
  constexpr int64_t kElements = 100'000;
  const auto run = [](const std::string& distribution, const std::string& key, double iteration, uint64_t seed) {
    const LocalNode node = WholeNode("noise", {{"distribution", distribution}, {"key", key}},
                                     {F32({kElements}), TensorType{DType::kI32, {}}});
    return Outputs(node, {Values(kElements, 3), {iteration}}, {.seed = seed})[0];
  };
  for (const auto& [distribution, moments] : {std::pair<std::string, std::array<double, 4>>{"normal", {0, 1, 0, 3}},
                                              {"uniform", {1.0 / 2, 1.0 / 3, 1.0 / 4, 1.0 / 5}}}) {
    const Values drawn = run(distribution, "a", 0, 1);
    for (int k = 0; k < 4; ++k) {
      double sum = 0;
      for (const double value : drawn) sum += std::pow(value, k + 1);
      EXPECT_NEAR(sum / kElements, moments[k], 0.07) << distribution << " moment " << k + 1;
    }
    double neighbours = 0;  // the two numbers of a pair are independent
    for (size_t i = 0; i < drawn.size(); i += 2) neighbours += (drawn[i] - moments[0]) * (drawn[i + 1] - moments[0]);
    EXPECT_NEAR(neighbours / (kElements / 2), 0, 0.02) << distribution;
    EXPECT_EQ(run(distribution, "a", 0, 1), drawn);
    EXPECT_NE(run(distribution, "b", 0, 1), drawn);
    EXPECT_NE(run(distribution, "a", 1, 1), drawn);
    EXPECT_NE(run(distribution, "a", 0, 2), drawn);
  }
}

// Channels have means and deviations of their own: a rank takes those of its channels.
TEST(Pixels, AreTheSameOnEveryPart) {
  const LocalNode node = WholeNode("pixels", {{"mean", "0.1,0.2,0.3"}, {"deviation", "0.4,0.5,0.6"}},
                                   {TensorType{DType::kU8, {5, 6, 7, 3}}});
  const std::vector<Values> inputs = SuitableInputs(node, 8);
  for (const std::string& family : Families("pixels")) {
    const RunOptions options{.family = family, .threads = 2};
    const Values whole = Outputs(node, inputs, options)[0];
    for (size_t i = 0; i < whole.size(); ++i) {
      const size_t c = i % 3;
      const double mean = std::array{0.1, 0.2, 0.3}[c], deviation = std::array{0.4, 0.5, 0.6}[c];
      ASSERT_EQ(whole[i], static_cast<float>((inputs[0][i] / 255.0 - mean) / deviation)) << family << " " << i;
    }
    for (int dimension = 0; dimension < 4; ++dimension) {
      for (const auto& [begin, end] : {std::pair<int64_t, int64_t>{0, 1}, {1, node.outputs[0].global[dimension]}}) {
        LocalTensor part = node.outputs[0];
        Narrow(part, dimension, begin, end);
        const auto narrow = [&](LocalNode& n) {
          Narrow(*n.inputs[0], dimension, begin, end);
          Narrow(n.outputs[0], dimension, begin, end);
        };
        EXPECT_EQ(RunPart(node, inputs, options, narrow)[0], Part(whole, part)) << family << dimension;
      }
    }
  }
}

TEST(Dropout, KeepsTheShareItSaysAndFollowsSeedKeyAndIteration) {
  const auto run = [](const std::string& key, double iteration, uint64_t seed) {
    const LocalNode node =
        WholeNode("dropout", {{"rate", 0.25}, {"key", key}}, {F32({100000}), TensorType{DType::kI32, {}}});
    return Outputs(node, {Values(100000, 3), {iteration}}, {.seed = seed})[0];
  };
  const Values first = run("a", 0, 1);
  double kept = 0;
  for (const double value : first) {
    EXPECT_TRUE(value == 0 || value == 4);
    kept += value != 0;
  }
  EXPECT_NEAR(kept / 100000, 0.75, 0.01);
  EXPECT_EQ(run("a", 0, 1), first);
  EXPECT_NE(run("b", 0, 1), first);
  EXPECT_NE(run("a", 1, 1), first);
  EXPECT_NE(run("a", 0, 2), first);
}

// Groups of samples are batches of their own.
TEST(BatchNorm, GroupsAreIndependent) {
  const TensorType x = F32({6, 5, 5, 12}), vector = F32({12}), stats{DType::kF64, {2, 2, 12}};
  const Attributes attributes{{"samples", int64_t{3}}, {"epsilon", 1e-3}, {"relu", true}};
  const LocalNode node = WholeNode("batch_norm_normalize", attributes, {x, stats, vector, vector, vector});
  const std::vector<Values> inputs = SuitableInputs(node, 9);
  for (const std::string& family : Families("batch_norm_normalize")) {
    const Values whole = Outputs(node, inputs, {.family = family})[0];
    const auto half = [&](int64_t g) {
      return RunPart(node, inputs, {.family = family}, [g](LocalNode& n) {
        Narrow(*n.inputs[0], 0, 3 * g, 3 * g + 3);
        Narrow(*n.inputs[1], 0, g, g + 1);
        Narrow(n.outputs[0], 0, 3 * g, 3 * g + 3);
      })[0];
    };
    EXPECT_EQ(Joined(half(0), half(1)), whole) << family;
  }
}

}  // namespace
}  // namespace partita
