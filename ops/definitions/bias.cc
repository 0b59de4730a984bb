// y = x + b along the last dimension: x [n,c], [n,t,c] or [n,h,w,c], b [c].
//
//   bias_grad(dy) -> [c]   the sum over all dimensions but the last
//   bias_grad_relu(dy, y) -> [c], masked   behind a relu with the result y: of masked = relu_grad(dy, y), in one pass
//
// Of a bf16 x and y; b and its gradient are f32.
#include "ops/definitions/definitions.h"
#include "ops/forms/op_builder.h"
#include "ops/forms/op_checks.h"
#include "ops/forms/op_rules.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

absl::StatusOr<std::vector<TensorType>> BiasShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckFloating(node, 0, "x"));
  RETURN_IF_ERROR(CheckRank(node, 0, "x", {2, 3, 4}, "[n,c], [n,t,c] or [n,h,w,c]"));
  RETURN_IF_ERROR(CheckDType(node, 1, "b", AccumulatorOf(node.inputs[0]->dtype)));
  RETURN_IF_ERROR(CheckShape(node, 1, "b", {node.inputs[0]->shape.back()}, "one number for each channel of x"));
  return std::vector<TensorType>{*node.inputs[0]};
}

absl::StatusOr<std::vector<TensorType>> BiasGradShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckFloating(node, 0, "dy"));
  RETURN_IF_ERROR(CheckRank(node, 0, "dy", {2, 3, 4}, "[n,c], [n,t,c] or [n,h,w,c]"));
  return std::vector<TensorType>{{AccumulatorOf(node.inputs[0]->dtype), {node.inputs[0]->shape.back()}}};
}

absl::StatusOr<std::vector<TensorType>> BiasGradReluShape(const NodeView& node) {
  ASSIGN_OR_RETURN(std::vector<TensorType> outputs, BiasGradShape(node));
  RETURN_IF_ERROR(CheckDType(node, 1, "y", node.inputs[0]->dtype));
  RETURN_IF_ERROR(CheckLike(node, 1, "y", node.inputs[0]->shape, "the same as dy"));
  outputs.push_back(*node.inputs[0]);
  return outputs;
}

std::vector<Rule> BiasRules(const NodeView& node) {
  const int rank = static_cast<int>(node.inputs[0]->shape.size());
  std::vector<Rule> rules = EveryDimension(rank, {true, false});
  rules[rank - 1].inputs[1] = S(0);
  rules.push_back(Partial({P(), P()}));
  return rules;
}

std::vector<Rule> BiasGradRules(const NodeView& node) {
  const int rank = static_cast<int>(node.inputs[0]->shape.size());
  std::vector<Rule> rules = EveryDimension(rank, {true});
  for (int d = 0; d < rank; ++d) rules[d].outputs[0] = d == rank - 1 ? S(0) : P();
  rules.push_back(Partial({P()}));
  return rules;
}

std::vector<Rule> BiasGradReluRules(const NodeView& node) {
  const int rank = static_cast<int>(node.inputs[0]->shape.size());
  std::vector<Rule> rules = EveryDimension(rank, {true, true}, 2);
  for (int d = 0; d < rank; ++d) rules[d].outputs[0] = d == rank - 1 ? S(0) : P();
  return rules;
}

absl::StatusOr<std::vector<ValueId>> BiasGradient(GradientBuilder& builder, const Node& node,
                                                  const std::vector<ValueId>& cotangents,
                                                  const std::vector<bool>& wanted) {
  std::vector<ValueId> result = {cotangents[0], kNoValue};
  if (wanted[1]) {
    ASSIGN_OR_RETURN(result[1], AddOne(builder, "bias_grad", {cotangents[0]}, {}, InputName(builder, node, 1)));
  }
  return result;
}

double Cost(const NodeView& node) { return Count(node.inputs[0]->shape); }

}  // namespace

OpDefinition BiasOp() {
  return Op("bias")
      .Inputs({"x"})
      .Parameters({"b"})
      .Shape(BiasShape)
      .Rules(BiasRules)
      .Gradient(BiasGradient)
      .Computes(Precision::kFollows)
      .Wide({"b"})
      .Flops(Cost)
      .InPlace(0, 0);
}

OpDefinition BiasGradOp() {
  return Op("bias_grad").Internal().Inputs({"dy"}).Shape(BiasGradShape).Rules(BiasGradRules).Flops(Cost);
}

OpDefinition BiasGradReluOp() {
  return Op("bias_grad_relu")
      .Internal()
      .Inputs({"dy", "y"})
      .Outputs(2)
      .Shape(BiasGradReluShape)
      .Rules(BiasGradReluRules)
      .Flops([](const NodeView& node) { return 2 * Cost(node); })
      .InPlace(0, 1);
}

}  // namespace partita
