// Layer normalization (Ba et al. 2016) of x [n,c], [n,t,c] or [n,h,w,c]: over the last dimension, of each row by
// itself.
//
//   layer_norm(x, gamma, beta) epsilon     xhat = (x - mean) / sqrt(variance + epsilon), y = gamma xhat + beta
//   layer_norm_input_grad(x, dy, gamma) -> dx, stats       stats [n,...,2]: mean and 1 / sqrt(variance + epsilon)
//   layer_norm_parameter_grad(x, dy, stats) -> dgamma, dbeta     sums over all rows of dy xhat and of dy
//
// The variance is the biased one, of differences from the mean or from a number near it, so that a mean that is large
// against the deviation costs nothing. stats is f64; of a bf16 x, gamma and beta are f32. All dimensions may be split
// but the one that is normalized: a strategy that splits the channels of what is before it has them gathered.
#include "ops/definitions/definitions.h"
#include "ops/forms/op_builder.h"
#include "ops/forms/op_checks.h"
#include "ops/forms/op_rules.h"
#include "ops/forms/rows.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

using enum RowPart;

absl::Status CheckVector(const NodeView& node, int index, const std::string& name) {
  const TensorType& x = *node.inputs[0];
  RETURN_IF_ERROR(CheckDType(node, index, name, AccumulatorOf(x.dtype)));
  return CheckShape(node, index, name, {x.shape.back()}, "one number for each element of a row");
}

Shape StatisticsOf(const Shape& x) {
  Shape stats = RowsOf(x);
  stats.push_back(2);
  return stats;
}

absl::StatusOr<std::vector<TensorType>> LayerNormShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckRows(node, 0, "x"));
  RETURN_IF_ERROR(CheckPositive(node.attributes, "epsilon"));
  RETURN_IF_ERROR(CheckVector(node, 1, "gamma"));
  RETURN_IF_ERROR(CheckVector(node, 2, "beta"));
  return std::vector<TensorType>{*node.inputs[0]};
}

absl::StatusOr<std::vector<TensorType>> InputGradShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckRows(node, 0, "x"));
  RETURN_IF_ERROR(CheckPositive(node.attributes, "epsilon"));
  RETURN_IF_ERROR(CheckLike(node, 1, "dy", node.inputs[0]->shape, "the same as x"));
  RETURN_IF_ERROR(CheckVector(node, 2, "gamma"));
  return std::vector<TensorType>{*node.inputs[0], {DType::kF64, StatisticsOf(node.inputs[0]->shape)}};
}

absl::StatusOr<std::vector<TensorType>> ParameterGradShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckRows(node, 0, "x"));
  const TensorType& x = *node.inputs[0];
  RETURN_IF_ERROR(CheckLike(node, 1, "dy", x.shape, "the same as x"));
  RETURN_IF_ERROR(CheckDType(node, 2, "stats", DType::kF64));
  RETURN_IF_ERROR(CheckShape(node, 2, "stats", StatisticsOf(x.shape), "two numbers for each row of x"));
  return std::vector<TensorType>(2, {AccumulatorOf(x.dtype), {x.shape.back()}});
}

RulesFunction Rows(const std::vector<RowPart>& inputs, const std::vector<RowPart>& outputs) {
  return
      [=](const NodeView& node) { return RowRules(static_cast<int>(node.inputs[0]->shape.size()), inputs, outputs); };
}

absl::StatusOr<std::vector<ValueId>> LayerNormGradient(GradientBuilder& builder, const Node& node,
                                                       const std::vector<ValueId>& cotangents,
                                                       const std::vector<bool>& wanted) {
  std::vector<ValueId> result(3, kNoValue);
  const ValueId x = node.inputs[0], gamma = node.inputs[1], dy = cotangents[0];
  if (!wanted[0] && !wanted[1] && !wanted[2]) return result;
  ASSIGN_OR_RETURN(const std::vector<ValueId> of_x,
                   builder.Add("layer_norm_input_grad", {x, dy, gamma}, node.attributes, InputName(builder, node, 0)));
  if (wanted[0]) result[0] = of_x[0];
  if (!wanted[1] && !wanted[2]) return result;
  ASSIGN_OR_RETURN(const std::vector<ValueId> sums,
                   builder.Add("layer_norm_parameter_grad", {x, dy, of_x[1]}, {}, InputName(builder, node, 1)));
  if (wanted[1]) result[1] = sums[0];
  if (wanted[2]) result[2] = sums[1];
  return result;
}

FlopsFunction PerElement(double operations) {
  return [operations](const NodeView& node) { return operations * Count(node.inputs[0]->shape); };
}

}  // namespace

OpDefinition LayerNormOp() {
  return Op("layer_norm")
      .Inputs({"x"})
      .Parameters({"gamma", "beta"})
      .Attribute("epsilon", 1e-5)
      .Shape(LayerNormShape)
      .Rules(Rows({kElements, kWhole, kWhole}, {kElements}))
      .Gradient(LayerNormGradient)
      .Computes(Precision::kFollows)
      .Wide({"gamma", "beta"})
      .Flops(PerElement(8))
      .InPlace(0, 0);
}

OpDefinition LayerNormInputGradOp() {
  return Op("layer_norm_input_grad")
      .Internal()
      .Inputs({"x", "dy", "gamma"})
      .Outputs(2)
      .Attribute("epsilon", 1e-5)
      .Shape(InputGradShape)
      .Rules(Rows({kElements, kElements, kWhole}, {kElements, kRows}))
      .Wide({"gamma"})
      .Flops(PerElement(14))
      .InPlace(1, 0);
}

OpDefinition LayerNormParameterGradOp() {
  return Op("layer_norm_parameter_grad")
      .Internal()
      .Inputs({"x", "dy", "stats"})
      .Outputs(2)
      .Shape(ParameterGradShape)
      .Rules(Rows({kElements, kElements, kRows}, {kWhole, kWhole}))
      .Flops(PerElement(5));
}

}  // namespace partita
