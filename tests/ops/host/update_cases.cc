// Of the table of nodes that all host kernels are run on: updates of states, alone and launched together.
#include "graph/optimizer/optimizer.h"
#include "ops/registry.h"
#include "tests/ops/host/case_table.h"
#include "tests/ops/update_rules.h"

namespace partita {
namespace {

// Of layers of several sizes: each has a count of its own.
void AddRunningTogether(CaseTable& table) {
  std::vector<LocalNode> members;
  for (const auto& [channels, count] : std::vector<std::pair<int64_t, int64_t>>{{3, 50}, {257, 12}, {1, 784}}) {
    const TensorType stats{DType::kF64, {channels % 2 + 1, 2, channels}}, vector = F32({channels});
    members.push_back(
        WholeNode("batch_norm_running", {{"momentum", 0.1}, {"count", count}}, {stats, vector, vector, I32({})}));
  }
  table.AddNode(Together(members));
}

// Parameters of odd sizes, one of them a scalar. Rate and clip are the same for all (SuitableInputs).
void AddUpdatesTogether(CaseTable& table) {
  for (const bool clipped : {false, true}) {
    const std::optional<TensorType> clip = clipped ? std::optional(F32({})) : std::nullopt;
    std::vector<LocalNode> plain, momentum;
    for (const Shape& shape : {Shape{3, 5}, Shape{}, Shape{1031}, Shape{4, 4, 4}}) {
      const TensorType x = F32(shape);
      plain.push_back(WholeNode("sgd", {{"weight_decay", 0.01}}, {x, x, F32({}), I32({}), clip}));
      momentum.push_back(WholeNode("sgd_momentum", {{"weight_decay", 0.01}, {"momentum", 0.9}, {"nesterov", clipped}},
                                   {x, x, x, F32({}), I32({}), clip}));
    }
    table.AddNode(Together(plain));
    table.AddNode(Together(momentum));
  }
}

// The ops of all optimizers.
void AddOptimizers(CaseTable& table) {
  std::vector<UpdateRule> rules = UpdateRules();
  rules.push_back({"moving_average", {{"decay", 0.9}, {"warmup", true}}, {}});
  rules.push_back({"carry", {}, {}});
  for (const UpdateRule& rule : rules) {
    for (const std::optional<TensorType>& clip : {std::optional<TensorType>(), std::optional(F32({}))}) {
      std::vector<LocalNode> members;
      for (const Shape& shape : {Shape{3, 5}, Shape{}, Shape{70000}, Shape{4, 4, 4}}) {
        Types inputs(2 + rule.slots.size(), F32(shape));
        inputs.insert(inputs.end(), {F32({}), I32({}), clip});
        if (inputs.size() < Ops().Find(rule.op)->inputs.size()) inputs.push_back(I32({}));
        table.Add(rule.op, rule.attributes, inputs);
        members.push_back(WholeNode(rule.op, rule.attributes, inputs));
      }
      table.AddNode(Together(members));
    }
  }
}

}  // namespace

void AddUpdates(CaseTable& table) {
  AddRunningTogether(table);
  AddUpdatesTogether(table);
  AddOptimizers(table);
}

}  // namespace partita
