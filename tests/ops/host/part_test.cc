// A part of a convolution is what the whole has there, and nothing else is written.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "graph/ir/op_definition.h"
#include "ops/host/host_kernels.h"
#include "ops/registry.h"
#include "tests/ops/host/part_cases.h"

namespace partita {
namespace {

TEST(Parts, AreWhatTheWholeConvolutionHasThere) {
  const std::vector<PartCase> cases = RandomParts(80);
  EXPECT_GT(cases.size(), 50u);
  for (const auto& [seed, whole, part, inputs, part_inputs] : cases) {
    const Values y = Outputs(InF64(whole), inputs, {.reference_only = true})[0];
    const LocalNode whole_bf16 = InBf16(whole);
    const Values y_bf16 = Outputs(InF64(whole), Stored(whole_bf16, inputs), {.reference_only = true})[0];
    for (const std::string& kernel : HostKernelNames(whole.op->name)) {
      const std::string family = kernel.substr(0, kernel.find('_'));
      if (family == "winograd" || family == "packed") continue;  // refuse so few channels
      for (const DType dtype : {DType::kF32, DType::kF64}) {
        if (dtype == DType::kF64 && family == "onednn") continue;
        const LocalNode node = dtype == DType::kF32 ? part : InF64(part);
        if (family == "grouped" && !HasGrouped(node)) continue;
        const int threads = 1 + static_cast<int>(seed % 2);
        const Values found = Outputs(node, part_inputs, {.family = family, .threads = threads})[0];
        ASSERT_LE(Distance(found, ExpectedOfPart(y, part)), dtype == DType::kF64 ? 1e-13 : 5e-6)
            << "seed " << seed << " " << kernel << " " << Name(dtype);
      }
      if (family == "grouped") continue;  // leaves bf16 to others
      const Values narrow = Outputs(InBf16(part), part_inputs, {.family = family})[0];
      ASSERT_LE(Distance(narrow, ExpectedOfPart(y_bf16, part)), 0x1p-8 + 5e-6) << "seed " << seed << " " << kernel;
    }
  }
}

// So large that threads share it: samples, or the rows of the only one; all columns, or some.
TEST(Parts, AreTheSameOnSeveralThreads) {
  for (const int64_t samples : {1, 2, 5}) {
    const Attributes attributes{{"padding", IntList{1, 1, 1, 1}}, {"activation", "relu"}};
    const LocalNode whole = WholeNode("conv2d_epilogue", attributes,
                                      {TensorType{DType::kF32, {samples, 26, 20, 32}},
                                       TensorType{DType::kF32, {32, 3, 3, 32}}, TensorType{DType::kF32, {32}}});
    const std::vector<Values> inputs = SuitableInputs(whole, 3);
    const Values y = Outputs(InF64(whole), inputs)[0];
    for (const Range columns : {Range{0, 20}, Range{3, 19}}) {
      LocalNode part = whole;
      part.within = {whole.inputs[0]->box, whole.inputs[1]->box, whole.inputs[2]->box, whole.outputs[0].box};
      Narrow(part.outputs[0], 1, 2, 25);
      Narrow(part.outputs[0], 2, columns.begin, columns.end);
      Narrow(*part.inputs[0], 1, 1, 26);
      Narrow(*part.inputs[0], 2, std::max<int64_t>(0, columns.begin - 1), std::min<int64_t>(20, columns.end + 1));
      for (const std::string& kernel : HostKernelNames("conv2d_epilogue")) {
        const std::string family = kernel.substr(0, kernel.find('_'));
        if (family == "reference" || family == "grouped") continue;
        for (const int threads : {1, 2, 3}) {
          const Values found = Outputs(part, inputs, {.family = family, .threads = threads})[0];
          EXPECT_LE(Distance(found, ExpectedOfPart(y, part)), 5e-6) << kernel << " " << samples << " on " << threads;
        }
      }
    }
  }
}

// Every kernel of a rank that holds some of the groups; one that rejects a node is asked for others.
TEST(Parts, OfGroupsAreWhatTheWholeHasThere) {
  std::map<std::string, int> ran;
  for (const auto& [first, whole, part, inputs, part_inputs] : PartsOfGroups()) {
    const Values y = Part(Outputs(InF64(whole), inputs, {.reference_only = true})[0], part.outputs[0]);
    for (const std::string& kernel : HostKernelNames(whole.op->name)) {
      const std::string family = kernel.substr(0, kernel.find('_'));
      for (const LocalNode& node : {part, InF64(part)}) {
        for (const int threads : {1, 2}) {
          const auto found = RunKernel(node, part_inputs, {.family = family, .threads = threads});
          if (found.status().code() == absl::StatusCode::kInvalidArgument) continue;
          ASSERT_TRUE(found.ok()) << found.status();
          const bool wide = node.outputs[0].dtype == DType::kF64;
          EXPECT_LE(Distance((*found)[0], y), wide ? 1e-13 : 5e-6) << kernel << " from group " << first;
          ++ran[kernel];
        }
      }
    }
  }
  for (const char* op : {"conv2d", "conv2d_epilogue", "conv2d_input_grad", "conv2d_weight_grad"}) {
    for (const std::string& kernel : HostKernelNames(op)) {
      const std::string family = kernel.substr(0, kernel.find('_'));
      const bool serves_all = family == "onednn" || family == "im2col" || family == "reference";
      EXPECT_GE(ran[kernel], serves_all ? 12 : 0) << kernel;
    }
  }
}

// Other ops are never asked for parts, so their kernels need not look.
TEST(Parts, AreOfConvolutionsAlone) {
  for (const std::string& op : HostKernelOps()) {
    const OpDefinition* const definition = Ops().Find(op);
    ASSERT_NE(definition, nullptr) << op;
    EXPECT_EQ(definition->windowed, op == "conv2d" || op == "conv2d_epilogue" ? 0 : -1) << op;
  }
}

}  // namespace
}  // namespace partita
