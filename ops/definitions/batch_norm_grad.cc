// The backward pass of batch normalization. With `relu`, dy counts as 0 where y <= 0, y recomputed as in the forward
// pass. Names and formulas of the forward pass: batch_norm.cc.
//
//   batch_norm_gradient_sums(x, dy, stats, shift, gamma, beta) -> dstats [G,2,C], dgamma [C], dbeta [C]
//       dbeta = sum dy            dgamma = sum dy xhat
//       dvariance = -1/2 gamma inv^2 sum(dy xhat)        dmean' = -gamma inv sum dy
//       dstats = ((dmean' - 2 mean' dvariance) / m, dvariance / m)
//   batch_norm_normalize_input_grad(x, dy, stats, shift, gamma, beta)      dy gamma inv
//   batch_norm_statistics_grad(x, shift, dstats)                           ds1 + 2 (x - shift) ds2
//   batch_norm_input_grad(x, dy, stats, shift, gamma, beta, dstats)        the sum of the two before, in one pass
//   batch_norm_backward(x, dy, stats, shift, gamma, beta) -> dx, dgamma, dbeta     the first and the last at once
//   batch_norm_gradient_sums_relu(x, dy, stats, shift, gamma, beta, y) -> dstats, dgamma, dbeta, masked
//   batch_norm_backward_relu(x, dy, stats, shift, gamma, beta, y) -> dx, dgamma, dbeta, masked
//       behind a relu with the result y: of masked = relu_grad(dy, y) in place of dy, in one pass
// stats and dstats are f64. Sums are per group; where the samples of a single group or rows are split they are partial.
#include "ops/definitions/definitions.h"
#include "ops/forms/batch_norm_shapes.h"
#include "ops/forms/op_builder.h"
#include "ops/forms/op_checks.h"
#include "ops/forms/op_rules.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

using enum BatchNormPart;

// x, dy, stats, shift, gamma, beta
absl::Status CheckNormalizeInputs(const NodeView& node) {
  RETURN_IF_ERROR(CheckBatchNormX(node));
  RETURN_IF_ERROR(CheckPositive(node.attributes, "epsilon"));
  RETURN_IF_ERROR(CheckLike(node, 1, "dy", node.inputs[0]->shape, "the same as x"));
  RETURN_IF_ERROR(CheckStatistics(node, 2, "stats"));
  return CheckChannelVectors(node, 3, {"shift", "gamma", "beta"});
}

absl::StatusOr<std::vector<TensorType>> SumsShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckNormalizeInputs(node));
  return std::vector<TensorType>{*node.inputs[2], *node.inputs[4], *node.inputs[5]};
}

// A node with the inputs y and dy that also gives dy masked by y.
ShapeFunction BehindRelu(const ShapeFunction& shape) {
  return [shape](const NodeView& node) -> absl::StatusOr<std::vector<TensorType>> {
    const TensorType& x = *node.inputs[0];
    ASSIGN_OR_RETURN(std::vector<TensorType> outputs, shape(node));
    RETURN_IF_ERROR(CheckDType(node, 6, "y", x.dtype));
    RETURN_IF_ERROR(CheckLike(node, 6, "y", x.shape, "the same as x"));
    outputs.push_back(x);
    return outputs;
  };
}

absl::StatusOr<std::vector<TensorType>> NormalizeInputGradShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckNormalizeInputs(node));
  return std::vector<TensorType>{*node.inputs[0]};
}

absl::StatusOr<std::vector<TensorType>> StatisticsGradShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckBatchNormX(node));
  RETURN_IF_ERROR(CheckChannelVectors(node, 1, {"shift"}));
  RETURN_IF_ERROR(CheckStatistics(node, 2, "dstats"));
  return std::vector<TensorType>{*node.inputs[0]};
}

absl::StatusOr<std::vector<TensorType>> InputGradShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckNormalizeInputs(node));
  RETURN_IF_ERROR(CheckStatistics(node, 6, "dstats"));
  return std::vector<TensorType>{*node.inputs[0]};
}

absl::StatusOr<std::vector<TensorType>> BackwardShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckNormalizeInputs(node));
  return std::vector<TensorType>{*node.inputs[0], *node.inputs[4], *node.inputs[5]};
}

Op NormalizeGradient(const std::string& name) {
  return Op(name)
      .Internal()
      .Inputs({"x", "dy", "stats"})
      .Parameters({"shift", "gamma", "beta"})
      .Attribute("samples", int64_t{0})
      .Attribute("epsilon", 1e-3)
      .Attribute("relu", false);
}

FlopsFunction PerElement(double operations) {
  return [operations](const NodeView& node) { return operations * Count(node.inputs[0]->shape); };
}

}  // namespace

OpDefinition BatchNormGradientSumsOp() {
  return NormalizeGradient("batch_norm_gradient_sums")
      .Outputs(3)
      .Shape(SumsShape)
      .Rules([](const NodeView& node) {
        return BatchNormRules(node, {kElements, kElements, kStatistics, kVector, kVector, kVector},
                              {kStatistics, kVector, kVector});
      })
      .Flops(PerElement(5));
}

OpDefinition BatchNormBackwardOp() {
  return NormalizeGradient("batch_norm_backward")
      .Outputs(3)
      .Shape(BackwardShape)
      .Rules([](const NodeView& node) {
        return WholeGroupRules(node, {kElements, kElements, kStatistics, kVector, kVector, kVector},
                               {kElements, kVector, kVector});
      })
      .Flops(PerElement(10))
      .InPlace(1, 0);
}

OpDefinition BatchNormGradientSumsReluOp() {
  return NormalizeGradient("batch_norm_gradient_sums_relu")
      .Inputs({"y"})
      .Outputs(4)
      .Shape(BehindRelu(SumsShape))
      .Rules([](const NodeView& node) {
        return BatchNormRules(node, {kElements, kElements, kStatistics, kVector, kVector, kVector, kElements},
                              {kStatistics, kVector, kVector, kElements});
      })
      .Flops(PerElement(6))
      .InPlace(1, 3);
}

OpDefinition BatchNormBackwardReluOp() {
  return NormalizeGradient("batch_norm_backward_relu")
      .Inputs({"y"})
      .Outputs(4)
      .Shape(BehindRelu(BackwardShape))
      .Rules([](const NodeView& node) {
        return WholeGroupRules(node, {kElements, kElements, kStatistics, kVector, kVector, kVector, kElements},
                               {kElements, kVector, kVector, kElements});
      })
      .Flops(PerElement(11))
      .InPlace(1, 3);
}

OpDefinition BatchNormNormalizeInputGradOp() {
  return NormalizeGradient("batch_norm_normalize_input_grad")
      .Shape(NormalizeInputGradShape)
      .Rules([](const NodeView& node) {
        return BatchNormRules(node, {kElements, kElements, kStatistics, kVector, kVector, kVector}, {kElements});
      })
      .Flops(PerElement(1))
      .InPlace(1, 0);
}

OpDefinition BatchNormStatisticsGradOp() {
  return Op("batch_norm_statistics_grad")
      .Internal()
      .Inputs({"x"})
      .Parameters({"shift"})
      .Inputs({"dstats"})
      .Attribute("samples", int64_t{0})
      .Shape(StatisticsGradShape)
      .Rules([](const NodeView& node) {
        return BatchNormRules(node, {kElements, kVector, kStatistics}, {kElements});
      })
      .Flops(PerElement(3))
      .InPlace(0, 0);
}

OpDefinition BatchNormInputGradOp() {
  return NormalizeGradient("batch_norm_input_grad")
      .Inputs({"dstats"})
      .Shape(InputGradShape)
      .Rules([](const NodeView& node) {
        return BatchNormRules(node, {kElements, kElements, kStatistics, kVector, kVector, kVector, kStatistics},
                              {kElements});
      })
      .Flops(PerElement(5))
      .InPlace(1, 0);
}

}  // namespace partita
