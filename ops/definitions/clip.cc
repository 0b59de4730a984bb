// Clipping by the global norm of all gradients (Pascanu et al. 2013):
//   s = sum_of_squares(x)              a scalar of x's type, accumulated in f64; any split of x gives partial sums; a
//                                      launch may add up those of several x (graph/lower/join_norms.h)
//   c = clip_scale(s) max_norm         min(1, max_norm / sqrt(s)): what every gradient is multiplied by
#include "ops/definitions/definitions.h"
#include "ops/forms/op_builder.h"
#include "ops/forms/op_checks.h"
#include "ops/forms/op_rules.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

absl::StatusOr<std::vector<TensorType>> SumShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckFloating(node, 0, "x"));
  return std::vector<TensorType>{{node.inputs[0]->dtype, {}}};
}

std::vector<Rule> SumRules(const NodeView& node) {
  std::vector<Rule> rules = EveryDimension(static_cast<int>(node.inputs[0]->shape.size()), {true});
  for (Rule& rule : rules) rule.outputs = {P()};
  return rules;
}

// A launch may square several inputs.
double SumFlops(const NodeView& node) {
  double flops = 0;
  for (const TensorType* const x : node.inputs) flops += 2 * Count(x->shape);
  return flops;
}

absl::StatusOr<std::vector<TensorType>> ScaleShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckFloating(node, 0, "sum_of_squares"));
  RETURN_IF_ERROR(CheckShape(node, 0, "sum_of_squares", {}, "a scalar"));
  RETURN_IF_ERROR(CheckPositive(node.attributes, "max_norm"));
  return std::vector<TensorType>{*node.inputs[0]};
}

}  // namespace

OpDefinition SumOfSquaresOp() {
  return Op("sum_of_squares")
      .As(Role::kSumOfSquares)
      .Internal()
      .Inputs({"x"})
      .Shape(SumShape)
      .Rules(SumRules)
      .TakesBf16(0)
      .Flops(SumFlops);
}

OpDefinition ClipScaleOp() {
  return Op("clip_scale")
      .As(Role::kClipScale)
      .Internal()
      .Inputs({"sum_of_squares"})
      .Required("max_norm", 0.0)
      .Shape(ScaleShape)
      .Flops([](const NodeView&) { return 3.0; });
}

}  // namespace partita
