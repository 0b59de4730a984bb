// loss = 1 / (n m) sum over i of weight_i * sum over j of (predictions[i,j] - targets[i,j])^2, with m the numbers of a
// sample and n the samples of the global batch (also where weights are given): `batch`, or if that is 0 the rows of
// predictions.
//
//   mean_squared_error_grad(predictions, targets, sample_weight?, dloss)    dloss weight_i 2 / (n m) (predictions -
//   targets)
#include "ops/definitions/definitions.h"
#include "ops/forms/classification.h"
#include "ops/forms/op_builder.h"
#include "ops/forms/op_checks.h"
#include "ops/forms/op_rules.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

absl::Status CheckInputs(const NodeView& node) {
  RETURN_IF_ERROR(CheckFloating(node, 0, "predictions"));
  RETURN_IF_ERROR(CheckAtLeast(node.attributes, "batch", 0));
  const Shape& predictions = node.inputs[0]->shape;
  if (predictions.empty()) return InvalidArgument("input predictions is a scalar; [n,...] is needed");
  RETURN_IF_ERROR(CheckLike(node, 1, "targets", predictions, "one for each of predictions"));
  return CheckLike(node, 2, "sample_weight", {predictions[0]}, "one for each sample of predictions");
}

absl::StatusOr<std::vector<TensorType>> LossShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckInputs(node));
  return std::vector<TensorType>{{node.inputs[0]->dtype, {}}};
}

absl::StatusOr<std::vector<TensorType>> GradShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckInputs(node));
  RETURN_IF_ERROR(CheckLike(node, 3, "dloss", {}, "a scalar"));
  return std::vector<TensorType>{*node.inputs[0]};
}

// A split of the samples is one of their weights.
std::vector<Rule> RulesOver(const NodeView& node, const std::vector<bool>& follows) {
  std::vector<Rule> rules = EveryDimension(static_cast<int>(node.inputs[0]->shape.size()), follows);
  rules[0].inputs[2] = S(0);
  return rules;
}

std::vector<Rule> LossRules(const NodeView& node) {
  std::vector<Rule> rules = RulesOver(node, {true, true, false});
  for (Rule& rule : rules) rule.outputs = {P()};
  return rules;
}

absl::StatusOr<std::vector<ValueId>> LossGradient(GradientBuilder& builder, const Node& node,
                                                  const std::vector<ValueId>& cotangents,
                                                  const std::vector<bool>& wanted) {
  std::vector<ValueId> result(3, kNoValue);
  const std::vector<ValueId>& in = node.inputs;
  for (int i = 0; i < 2; ++i) {  // the error is symmetric
    if (!wanted[i]) continue;
    ASSIGN_OR_RETURN(result[i], AddOne(builder, "mean_squared_error_grad", {in[i], in[1 - i], in[2], cotangents[0]},
                                       node.attributes, InputName(builder, node, i)));
  }
  return result;
}

double Cost(const NodeView& node) { return 3 * Count(node.inputs[0]->shape); }

}  // namespace

OpDefinition MeanSquaredErrorOp() {
  return Op("mean_squared_error")
      .As(Role::kLoss)
      .Inputs({"predictions", "targets"})
      .Optional("sample_weight")
      .Constant({"sample_weight"})
      .InEvaluation(WithSampleWeight)
      .Attribute("batch", int64_t{0})
      .Shape(LossShape)
      .Rules(LossRules)
      .Gradient(LossGradient)
      .Flops(Cost);
}

OpDefinition MeanSquaredErrorGradOp() {
  return Op("mean_squared_error_grad")
      .Internal()
      .Inputs({"predictions", "targets"})
      .Optional("sample_weight")
      .Inputs({"dloss"})
      .OneIfAbsent(3)
      .Attribute("batch", int64_t{0})
      .Shape(GradShape)
      .Rules([](const NodeView& node) {
        return RulesOver(node, {true, true, false, false});
      })
      .Flops(Cost)
      .InPlace(0, 0);
}

}  // namespace partita
