// A rank may hold nothing of what a strategy splits: own kernels on fibers, over the table of tests/ops/host/cases.cc,
// split in each way that the op allows, for the rank whose block is empty.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "graph/ir/op_definition.h"
#include "tests/ops/cuda/fibers/cases.h"
#include "tests/ops/cuda/fibers/own_kernel.h"

namespace partita::fibers {
namespace {

std::vector<Rule> RulesOf(const LocalNode& node) {
  std::vector<TensorType> types;
  for (const auto& input : node.inputs) types.push_back(input ? TensorType{input->dtype, input->global} : TensorType{});
  NodeView view{node.attributes, {}, {}};
  for (size_t i = 0; i < types.size(); ++i) view.inputs.push_back(node.inputs[i] ? &types[i] : nullptr);
  for (const LocalTensor& output : node.outputs) view.outputs.push_back({output.dtype, output.global});
  return node.op->rules ? node.op->rules(view) : std::vector<Rule>();
}

bool IsSplit(const Pattern& pattern) { return pattern.kind == AxisLayout::Kind::kSplit; }

// The block behind all others.
void Empty(LocalTensor& tensor, const Pattern& pattern) {
  if (!IsSplit(pattern)) return;
  const int64_t end = tensor.global[static_cast<size_t>(pattern.dimension)];
  Narrow(tensor, pattern.dimension, end, end);
}

struct EmptyCase {
  std::string rule;
  LocalNode node;
  std::vector<Values> inputs;
};

std::vector<EmptyCase> EmptyCasesOf(const KernelCase& c) {
  std::vector<EmptyCase> cases;
  if (c.node.members > 1) return cases;
  for (const Rule& rule : RulesOf(c.node)) {
    if (std::ranges::none_of(rule.inputs, IsSplit) && std::ranges::none_of(rule.outputs, IsSplit)) continue;
    EmptyCase one{rule.name, c.node, c.inputs};
    for (size_t i = 0; i < one.node.inputs.size() && i < rule.inputs.size(); ++i) {
      if (!one.node.inputs[i].has_value()) continue;
      Empty(*one.node.inputs[i], rule.inputs[i]);
      if (IsSplit(rule.inputs[i])) one.inputs[i].clear();
    }
    for (size_t o = 0; o < one.node.outputs.size(); ++o) Empty(one.node.outputs[o], rule.outputs[o]);
    cases.push_back(std::move(one));
  }
  return cases;
}

TEST(EmptyBlocksOnFibers, GiveWhatTheReferenceGives) {
  int ran = 0;
  for (const KernelCase& c : CasesUpTo(1e4)) {
    for (const auto& [rule, node, inputs] : EmptyCasesOf(c)) {
      for (const LocalNode& typed : {node, InBf16(node)}) {
        SCOPED_TRACE(c.name + " split by " + rule + " " + Name(typed.outputs[0].dtype));
        const absl::StatusOr<FiberRun> run = RunOnFibers(typed, Stored(typed, inputs));
        if (run.status().code() == absl::StatusCode::kInvalidArgument) continue;  // is of f32 and f64
        ASSERT_TRUE(run.ok()) << run.status();
        ExpectNear(typed, run->outputs, Reference(node, Stored(typed, inputs)));
        ++ran;
      }
    }
  }
  EXPECT_GT(ran, 1000);
}

}  // namespace
}  // namespace partita::fibers
