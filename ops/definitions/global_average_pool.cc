// y[n,c] = mean over h, w of x[n,h,w,c]. The divisor is the global h*w, so split rows give partial means.
//
//   global_average_pool_grad(dy) shape=x    dy / (h*w) everywhere
#include "ops/definitions/definitions.h"
#include "ops/forms/op_builder.h"
#include "ops/forms/op_checks.h"
#include "ops/forms/op_rules.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

absl::StatusOr<std::vector<TensorType>> PoolShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckFloating(node, 0, "x"));
  RETURN_IF_ERROR(CheckRank(node, 0, "x", {4}, "[n,h,w,c]"));
  const Shape& x = node.inputs[0]->shape;
  return std::vector<TensorType>{{node.inputs[0]->dtype, {x[0], x[3]}}};
}

absl::StatusOr<std::vector<TensorType>> GradShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckFloating(node, 0, "dy"));
  ASSIGN_OR_RETURN(const Shape x, ShapeAttribute(node.attributes, 4));
  if (x.size() != 4) return InvalidArgument("attribute shape is {}; [n,h,w,c] is needed", ToString(x));
  RETURN_IF_ERROR(CheckShape(node, 0, "dy", {x[0], x[3]}, "samples and channels of attribute shape"));
  return std::vector<TensorType>{{node.inputs[0]->dtype, x}};
}

std::vector<Rule> PoolRules(const NodeView&) {
  return {{"samples", {S(0)}, {S(0)}},
          {"channels", {S(3)}, {S(1)}},
          {"height", {S(1)}, {P()}},
          {"width", {S(2)}, {P()}},
          Partial({P()})};
}

std::vector<Rule> GradRules(const NodeView&) {
  return {{"samples", {S(0)}, {S(0)}}, {"channels", {S(1)}, {S(3)}}, Partial({P()})};
}

absl::StatusOr<std::vector<ValueId>> PoolGradient(GradientBuilder& builder, const Node& node,
                                                  const std::vector<ValueId>& cotangents,
                                                  const std::vector<bool>& wanted) {
  if (!wanted[0]) return std::vector<ValueId>{kNoValue};
  ASSIGN_OR_RETURN(const ValueId dx,
                   AddOne(builder, "global_average_pool_grad", {cotangents[0]},
                          WithShape(node, InputShape(builder, node, 0)), InputName(builder, node, 0)));
  return std::vector<ValueId>{dx};
}

}  // namespace

OpDefinition GlobalAveragePoolOp() {
  return Op("global_average_pool")
      .Inputs({"x"})
      .Shape(PoolShape)
      .Rules(PoolRules)
      .Gradient(PoolGradient)
      .Computes(Precision::kFollows)
      .Flops([](const NodeView& node) { return Count(node.inputs[0]->shape); });
}

OpDefinition GlobalAveragePoolGradOp() {
  return Op("global_average_pool_grad")
      .Internal()
      .Inputs({"dy"})
      .Required("shape", IntList())
      .Shape(GradShape)
      .Rules(GradRules)
      .Flops([](const NodeView& node) { return Count(node.inputs[0]->shape); });
}

}  // namespace partita
