// The structure of gradients: nodes that pass shape inference, cotangents of their inputs' types, nothing that nobody
// wants. Their values are checked by finite differences elsewhere.
#include <gtest/gtest.h>

#include "graph/ir/node_view.h"
#include "ops/registry.h"
#include "runtime/base/status.h"
#include "tests/ops/op_cases.h"

namespace partita {
namespace {

// Appends to one graph without layouts.
class PlainBuilder : public GradientBuilder {
 public:
  const Graph& graph() const override { return graph_; }

  absl::StatusOr<std::vector<ValueId>> Add(const std::string& op, std::vector<ValueId> inputs, Attributes attributes,
                                           const std::string& base) override {
    const OpDefinition* definition = Ops().Find(op);
    CHECK(definition != nullptr);
    Node node{definition, {}, std::move(inputs), {}, Phase::kForward};
    ASSIGN_OR_RETURN(node.attributes, CompleteAttributes(*definition, attributes));
    ASSIGN_OR_RETURN(const std::vector<TensorType> types, InferTypes(graph_, node));
    std::vector<Value> outputs;
    for (size_t i = 0; i < types.size(); ++i) {
      outputs.push_back({fmt::format("{}{}@{}", base, i, graph_.nodes().size()), types[i], {}, -1});
    }
    const NodeId id = graph_.AddNode(std::move(node), outputs);
    return graph_.node(id).outputs;
  }

 private:
  Graph graph_;
};

absl::StatusOr<ValueId> AddSource(PlainBuilder& builder, const TensorType& type, const std::string& name) {
  ASSIGN_OR_RETURN(
      const std::vector<ValueId> ids,
      builder.Add("constant", {}, {{"dtype", std::string(Name(type.dtype))}, {"shape", type.shape}, {"value", 0.0}},
                  name));
  return ids[0];
}

// The case's node and cotangents for all its outputs.
struct Forward {
  PlainBuilder builder;
  Node node;
  std::vector<ValueId> cotangents;
};

void Build(const OpCase& op_case, Forward& forward) {
  std::vector<ValueId> inputs;
  for (const std::optional<CaseInput>& input : op_case.inputs) {
    inputs.push_back(input ? AddSource(forward.builder, input->type, "in").value() : kNoValue);
  }
  const std::vector<ValueId> outputs = forward.builder.Add(op_case.op, inputs, op_case.attributes, "out").value();
  forward.node = forward.builder.graph().nodes().back();
  for (const ValueId id : outputs) {
    const TensorType type = forward.builder.graph().type(id);
    forward.cotangents.push_back(AddSource(forward.builder, type, "cotangent").value());
  }
}

class EveryGradient : public testing::TestWithParam<OpCase> {};

TEST_P(EveryGradient, HasTheTypesOfTheInputs) {
  Forward forward;
  Build(GetParam(), forward);
  const std::vector<bool> wanted(forward.node.inputs.size(), true);
  const auto result = Ops().Find(GetParam().op)->gradient(forward.builder, forward.node, forward.cotangents, wanted);
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->size(), forward.node.inputs.size());
  for (size_t i = 0; i < result->size(); ++i) {
    const bool differentiable = GetParam().inputs[i] && GetParam().inputs[i]->differentiable;
    ASSERT_EQ((*result)[i] != kNoValue, differentiable) << "input " << i;
    if (differentiable) {
      EXPECT_EQ(forward.builder.graph().type((*result)[i]), GetParam().inputs[i]->type) << "input " << i;
    }
  }
}

TEST_P(EveryGradient, ComputesNothingThatNobodyWants) {
  Forward forward;
  Build(GetParam(), forward);
  const size_t nodes = forward.builder.graph().nodes().size();
  const std::vector<bool> wanted(forward.node.inputs.size(), false);
  const auto result = Ops().Find(GetParam().op)->gradient(forward.builder, forward.node, forward.cotangents, wanted);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(forward.builder.graph().nodes().size(), nodes);
}

std::string CaseName(const testing::TestParamInfo<OpCase>& info) {
  std::string name = info.param.name;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Ops, EveryGradient, testing::ValuesIn(GradientCases()), CaseName);

TEST(Gradient, DropoutTakesTheForwardNodesNameAsKey) {
  Forward forward;
  const CaseInput x{{DType::kF32, {3, 5}}};
  Build({"dropout", "dropout", *CompleteAttributes(*Ops().Find("dropout"), {{"rate", 0.5}}), {x, std::nullopt}},
        forward);
  ASSERT_TRUE(Ops().Find("dropout")->gradient(forward.builder, forward.node, forward.cotangents, {true, false}).ok());
  const Graph& graph = forward.builder.graph();
  EXPECT_EQ(graph.nodes().back().attributes.String("key"), graph.value(forward.node.outputs[0]).name);
}

TEST(Gradient, NoneFlowsThroughIntegers) {
  Forward forward;
  const CaseInput x{{DType::kU8, {3, 5}}};
  Build({"cast", "cast", {{"dtype", "f32"}}, {x}}, forward);
  const auto result = Ops().Find("cast")->gradient(forward.builder, forward.node, forward.cotangents, {true});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ((*result)[0], kNoValue);
}

}  // namespace
}  // namespace partita
