// The same numbers in another element type. Between floats it is linear (P passes) and its gradient casts back; from or
// to integers no gradient flows. Floats become integers by truncation.
//
// Where the gradient makes numbers wider (a weight's, of which a layer reads a bf16 copy), every term of the sum that
// the cotangent is goes through it alone: nodes, micro-batches and ranks are then added up in the wide type, by the
// same all_reduce as without the cast. What is moved is wide, too: four bytes for an element of a bf16 layer's weight.
#include "ops/definitions/definitions.h"
#include "ops/forms/op_builder.h"
#include "ops/forms/op_checks.h"
#include "ops/forms/op_rules.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

absl::StatusOr<std::vector<TensorType>> CastShape(const NodeView& node) {
  ASSIGN_OR_RETURN(const DType dtype, DTypeAttribute(node.attributes));
  return std::vector<TensorType>{{dtype, node.inputs[0]->shape}};
}

std::vector<Rule> CastRules(const NodeView& node) {
  std::vector<Rule> rules = EveryDimension(static_cast<int>(node.inputs[0]->shape.size()), {true});
  if (IsFloating(node.inputs[0]->dtype) && IsFloating(node.outputs[0].dtype)) rules.push_back(Partial({P()}));
  return rules;
}

absl::StatusOr<std::vector<ValueId>> CastGradient(GradientBuilder& builder, const Node& node,
                                                  const std::vector<ValueId>& cotangents,
                                                  const std::vector<bool>& wanted) {
  const DType from = builder.graph().type(node.inputs[0]).dtype;
  const DType to = builder.graph().type(node.outputs[0]).dtype;
  if (!wanted[0] || !IsFloating(from) || !IsFloating(to)) return std::vector<ValueId>{kNoValue};
  ASSIGN_OR_RETURN(const ValueId dx, AddOne(builder, "cast", {cotangents[0]}, {{"dtype", std::string(Name(from))}},
                                            InputName(builder, node, 0)));
  return std::vector<ValueId>{dx};
}

}  // namespace

OpDefinition CastOp() {
  return Op("cast")
      .As(Role::kCast)
      .Inputs({"x"})
      .Required("dtype", "")
      .Shape(CastShape)
      .Rules(CastRules)
      .Gradient(CastGradient)
      .GradientOfTerms(
          [](const NodeView& node) { return SizeOf(node.inputs[0]->dtype) > SizeOf(node.outputs[0].dtype); })
      .Computes(Precision::kFollows);
}

}  // namespace partita
