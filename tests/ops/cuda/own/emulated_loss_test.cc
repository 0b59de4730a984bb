// Losses and accuracy of ops/cuda without a GPU: labels that are no class, scalars that are absent, blocks of classes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "graph/ir/op_definition.h"
#include "ops/cuda/kernel_table.h"
#include "tests/ops/cuda/own/emulated.h"
#include "tests/ops/host/kernel_case.h"

namespace partita {
namespace {

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

// A label that is ignored need not be a class: it leaves no word, and logits that are no numbers do not matter there.
TEST(EmulatedLoss, AnIgnoredLabelIsNoFault) {
  for (const int64_t classes : {5, 100}) {
    const TensorType logits{DType::kF32, {4, classes}}, labels{DType::kI32, {4}}, row{DType::kF32, {4}};
    const std::optional<TensorType> scalar = TensorType{DType::kF32, {}}, none;
    const std::map<std::string, std::vector<std::optional<TensorType>>> inputs_of = {
        {"softmax_cross_entropy", {logits, labels, none}},
        {"softmax_cross_entropy_grad", {logits, labels, none, scalar}},
        {"accuracy", {logits, labels, none}},
        {"cross_entropy", {logits, labels, none, row, row}},
        {"cross_entropy_logits_grad", {logits, labels, none, scalar}}};
    for (const auto& [op, types] : inputs_of) {
      const LocalNode node = WholeNode(op, {{"ignore_index", int64_t{-100}}, {"reduction", "sum"}}, types);
      std::vector<Values> inputs = {RandomValues(4 * classes, 3), {0, -100, 2, -100}, {}};
      std::fill_n(inputs[0].begin() + classes, classes, std::numeric_limits<double>::quiet_NaN());
      for (size_t i = 3; i < types.size(); ++i) inputs.push_back(Values(types[i]->shape.empty() ? 1 : 4, 1));
      const Values found = Emulated(node, inputs)[0];
      EXPECT_TRUE(std::ranges::all_of(found, [](double value) { return std::isfinite(value); })) << op;
      for (const bool reference_only : {false, true}) {
        const Values host = Outputs(node, inputs, {.reference_only = reference_only})[0];
        ASSERT_EQ(host.size(), found.size()) << op;
        for (size_t i = 0; i < host.size(); ++i) EXPECT_NEAR(host[i], found[i], 1e-5) << op << " " << i;
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

}  // namespace
}  // namespace partita
