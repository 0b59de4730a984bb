// Ops on elements of the same place; any shape, all splits.
//
//   relu(x)         max(x, 0)              gradient relu_grad(dy, y): dy where y > 0, else 0
//   sigmoid(x)      1 / (1 + exp(-x))      gradient sigmoid_grad(dy, y): dy y (1 - y)
//   add(x...)       the sum of all inputs  the cotangent goes to each
//   mul(x, y)       x y                    dx = dy y
#include "ops/definitions/definitions.h"
#include "ops/forms/op_builder.h"
#include "ops/forms/op_checks.h"
#include "ops/forms/op_rules.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

int Rank(const NodeView& node) { return static_cast<int>(node.inputs[0]->shape.size()); }

double OnePerElement(const NodeView& node) {
  return Count(node.inputs[0]->shape) * std::max(1.0, static_cast<double>(node.inputs.size()) - 1);
}

// All inputs have the type of the first, which is floating.
ShapeFunction SameTypes(const std::vector<std::string>& names) {
  return [names](const NodeView& node) -> absl::StatusOr<std::vector<TensorType>> {
    const auto name = [&](size_t i) { return i < names.size() ? names[i] : fmt::format("{}[{}]", names.back(), i); };
    RETURN_IF_ERROR(CheckFloating(node, 0, name(0)));
    for (size_t i = 1; i < node.inputs.size(); ++i) {
      RETURN_IF_ERROR(
          CheckLike(node, static_cast<int>(i), name(i), node.inputs[0]->shape, fmt::format("the same as {}", name(0))));
    }
    return std::vector<TensorType>{*node.inputs[0]};
  };
}

// Of dy and the result: linear in the first.
std::vector<Rule> ActivationGradRules(const NodeView& node) {
  std::vector<Rule> rules = EveryDimension(Rank(node), {true, true});
  rules.push_back(Partial({P(), R()}));
  return rules;
}

std::vector<Rule> AddRules(const NodeView& node) {
  std::vector<Rule> rules = EveryDimension(Rank(node), std::vector<bool>(node.inputs.size(), true));
  rules.push_back(Partial(std::vector<Pattern>(node.inputs.size(), P())));
  return rules;
}

std::vector<Rule> MulRules(const NodeView& node) {
  std::vector<Rule> rules = EveryDimension(Rank(node), {true, true});
  rules.push_back(Partial({P(), R()}));
  rules.push_back(Partial({R(), P()}));
  return rules;
}

// By the op `<name>_grad`, which takes the result: the input need not be kept.
absl::StatusOr<std::vector<ValueId>> ActivationGradient(GradientBuilder& builder, const Node& node,
                                                        const std::vector<ValueId>& cotangents,
                                                        const std::vector<bool>& wanted) {
  if (!wanted[0]) return std::vector<ValueId>{kNoValue};
  ASSIGN_OR_RETURN(const ValueId dx, AddOne(builder, node.op->name + "_grad", {cotangents[0], node.outputs[0]}, {},
                                            InputName(builder, node, 0)));
  return std::vector<ValueId>{dx};
}

OpDefinition Activation(const std::string& name) {
  return Op(name)
      .Inputs({"x"})
      .Shape(SameTypes({"x"}))
      .Rules([](const NodeView& node) { return EveryDimension(Rank(node), {true}); })
      .Gradient(ActivationGradient)
      .Computes(Precision::kFollows)
      .Flops(OnePerElement)
      .InPlace(0, 0);
}

OpDefinition ActivationGrad(const std::string& name) {
  return Op(name)
      .Internal()
      .Inputs({"dy", "y"})
      .Shape(SameTypes({"dy", "y"}))
      .Rules(ActivationGradRules)
      .Flops(OnePerElement)
      .InPlace(0, 0);
}

absl::StatusOr<std::vector<ValueId>> AddGradient(GradientBuilder&, const Node& node,
                                                 const std::vector<ValueId>& cotangents, const std::vector<bool>&) {
  return std::vector<ValueId>(node.inputs.size(), cotangents[0]);
}

absl::StatusOr<std::vector<ValueId>> MulGradient(GradientBuilder& builder, const Node& node,
                                                 const std::vector<ValueId>& cotangents,
                                                 const std::vector<bool>& wanted) {
  std::vector<ValueId> result(2, kNoValue);
  for (int i = 0; i < 2; ++i) {
    if (!wanted[i]) continue;
    ASSIGN_OR_RETURN(result[i],
                     AddOne(builder, "mul", {cotangents[0], node.inputs[1 - i]}, {}, InputName(builder, node, i)));
  }
  return result;
}

}  // namespace

OpDefinition ReluOp() { return Activation("relu"); }
OpDefinition ReluGradOp() { return ActivationGrad("relu_grad"); }
OpDefinition SigmoidOp() { return Activation("sigmoid"); }
OpDefinition SigmoidGradOp() { return ActivationGrad("sigmoid_grad"); }

OpDefinition AddOp() {
  return Op("add")
      .Variadic("x")
      .Shape(SameTypes({"x"}))
      .Rules(AddRules)
      .Gradient(AddGradient)
      .Computes(Precision::kFollows)
      .Flops(OnePerElement)
      .InPlace(0, 0);
}

OpDefinition MulOp() {
  return Op("mul")
      .Inputs({"x", "y"})
      .Shape(SameTypes({"x", "y"}))
      .Rules(MulRules)
      .Gradient(MulGradient)
      .Computes(Precision::kFollows)
      .Flops(OnePerElement)
      .InPlace(0, 0);
}

}  // namespace partita
