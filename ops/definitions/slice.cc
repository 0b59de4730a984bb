// y = the box [begin, begin + size) of x; a size of -1 is what is left. Dimensions that are taken whole may be split.
//
//   slice_grad(dy) begin shape=x    dy in its box, zeros elsewhere
#include "ops/definitions/definitions.h"
#include "ops/forms/op_builder.h"
#include "ops/forms/op_checks.h"
#include "ops/forms/op_rules.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

absl::Status CheckBox(const IntList& begin, const Shape& size, const Shape& whole) {
  for (size_t d = 0; d < whole.size(); ++d) {
    if (begin[d] <= whole[d] && size[d] <= whole[d] - begin[d]) continue;
    return InvalidArgument("begin {} and size {} leave shape {} at dimension {}", ToString(begin), ToString(size),
                           ToString(whole), d);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<TensorType>> SliceShape(const NodeView& node) {
  const Shape& x = node.inputs[0]->shape;
  RETURN_IF_ERROR(CheckInts(node.attributes, "begin", x.size(), 0));
  RETURN_IF_ERROR(CheckInts(node.attributes, "size", x.size(), -1));
  const IntList& begin = node.attributes.Ints("begin");
  Shape size = node.attributes.Ints("size");
  for (size_t d = 0; d < x.size(); ++d) {
    if (size[d] == -1 && begin[d] < x[d]) size[d] = x[d] - begin[d];
    if (size[d] >= 1) continue;
    return InvalidArgument("attribute size is {}; each number must be at least 1, or -1 for what is left",
                           ToString(node.attributes.Ints("size")));
  }
  RETURN_IF_ERROR(CheckBox(begin, size, x));
  return std::vector<TensorType>{{node.inputs[0]->dtype, size}};
}

absl::StatusOr<std::vector<TensorType>> SliceGradShape(const NodeView& node) {
  const Shape& dy = node.inputs[0]->shape;
  ASSIGN_OR_RETURN(const Shape x, ShapeAttribute(node.attributes));
  RETURN_IF_ERROR(CheckInts(node.attributes, "begin", x.size(), 0));
  if (dy.size() != x.size()) {
    return InvalidArgument("input dy has shape {}; {} dimensions are needed, as in attribute shape", ToString(dy),
                           x.size());
  }
  RETURN_IF_ERROR(CheckBox(node.attributes.Ints("begin"), dy, x));
  return std::vector<TensorType>{{node.inputs[0]->dtype, x}};
}

std::vector<Rule> WholeDimensions(const NodeView& node) {
  const Shape& in = node.inputs[0]->shape;
  const Shape& out = node.outputs[0].shape;
  std::vector<Rule> rules;
  for (const Rule& rule : EveryDimension(static_cast<int>(in.size()), {true})) {
    if (in[rule.inputs[0].dimension] == out[rule.inputs[0].dimension]) rules.push_back(rule);
  }
  if (IsFloating(node.inputs[0]->dtype)) rules.push_back(Partial({P()}));
  return rules;
}

absl::StatusOr<std::vector<ValueId>> SliceGradient(GradientBuilder& builder, const Node& node,
                                                   const std::vector<ValueId>& cotangents,
                                                   const std::vector<bool>& wanted) {
  if (!wanted[0]) return std::vector<ValueId>{kNoValue};
  const Attributes attributes = {{"begin", node.attributes.Ints("begin")}, {"shape", InputShape(builder, node, 0)}};
  ASSIGN_OR_RETURN(const ValueId dx,
                   AddOne(builder, "slice_grad", {cotangents[0]}, attributes, InputName(builder, node, 0)));
  return std::vector<ValueId>{dx};
}

}  // namespace

OpDefinition SliceOp() {
  return Op("slice")
      .As(Role::kSlice)
      .Inputs({"x"})
      .Required("begin", IntList())
      .Required("size", IntList())
      .Shape(SliceShape)
      .Rules(WholeDimensions)
      .Gradient(SliceGradient)
      .Computes(Precision::kFollows);
}

OpDefinition SliceGradOp() {
  return Op("slice_grad")
      .Internal()
      .Inputs({"dy"})
      .Required("begin", IntList())
      .Required("shape", IntList())
      .Shape(SliceGradShape)
      .Rules(WholeDimensions);
}

}  // namespace partita
