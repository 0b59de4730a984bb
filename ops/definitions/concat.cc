// The inputs one after the other along dimension `axis`; all other sizes agree. A split along `axis` is no legal rule:
// the parts would not meet the cuts. The gradient is a slice for each input.
#include "ops/definitions/definitions.h"
#include "ops/forms/op_builder.h"
#include "ops/forms/op_checks.h"
#include "ops/forms/op_rules.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

absl::StatusOr<std::vector<TensorType>> ConcatShape(const NodeView& node) {
  TensorType result = *node.inputs[0];
  const int64_t axis = node.attributes.Int("axis");
  const int64_t rank = static_cast<int64_t>(result.shape.size());
  if (axis < 0 || axis >= rank) {
    return InvalidArgument("attribute axis is {}; input x[0] has shape {}: 0 to {} are allowed", axis,
                           ToString(result.shape), rank - 1);
  }
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    const std::string name = fmt::format("x[{}]", i);
    RETURN_IF_ERROR(CheckDType(node, static_cast<int>(i), name, result.dtype));
    Shape expected = node.inputs[0]->shape;
    const Shape& shape = node.inputs[i]->shape;
    if (shape.size() == expected.size()) expected[axis] = shape[axis];
    RETURN_IF_ERROR(CheckShape(node, static_cast<int>(i), name, expected, "as x[0] but for the axis"));
    if (__builtin_add_overflow(result.shape[axis], shape[axis], &result.shape[axis])) {
      return InvalidArgument("the sizes along axis {} add up to more than 64 bits", axis);
    }
  }
  return std::vector<TensorType>{std::move(result)};
}

std::vector<Rule> ConcatRules(const NodeView& node) {
  std::vector<Rule> rules =
      EveryDimension(static_cast<int>(node.inputs[0]->shape.size()), std::vector<bool>(node.inputs.size(), true));
  rules.erase(rules.begin() + node.attributes.Int("axis"));
  if (IsFloating(node.inputs[0]->dtype)) rules.push_back(Partial(std::vector<Pattern>(node.inputs.size(), P())));
  return rules;
}

absl::StatusOr<std::vector<ValueId>> ConcatGradient(GradientBuilder& builder, const Node& node,
                                                    const std::vector<ValueId>& cotangents,
                                                    const std::vector<bool>& wanted) {
  const int64_t axis = node.attributes.Int("axis");
  std::vector<ValueId> result(node.inputs.size(), kNoValue);
  IntList begin(InputShape(builder, node, 0).size(), 0);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Shape size = InputShape(builder, node, static_cast<int>(i));
    if (wanted[i]) {
      ASSIGN_OR_RETURN(result[i], AddOne(builder, "slice", {cotangents[0]}, {{"begin", begin}, {"size", size}},
                                         InputName(builder, node, static_cast<int>(i))));
    }
    begin[axis] += size[axis];
  }
  return result;
}

}  // namespace

OpDefinition ConcatOp() {
  return Op("concat")
      .As(Role::kConcat)
      .Variadic("x")
      .Required("axis", int64_t{0})
      .Shape(ConcatShape)
      .Rules(ConcatRules)
      .Gradient(ConcatGradient)
      .Computes(Precision::kFollows);
}

}  // namespace partita
