// What enters a graph, and what a graph knows of itself. A source may be split along any dimension.
//
//   input()      a batch of samples, set before each step from the batch's field of that name (`field`; empty: the
//                name of the node). Dimension names as DimensionName: samples, channels, ...
//   parameter()  a trainable state, filled once by its initializer (ops/values/initializer.h)
//   state()      a state that no gradient reaches: running statistics, optimizer slots, the iteration counter; `like`
//                names a state of the same attributes, with whose values it begins
//   constant()   filled with `value`
//   positions(x) axis   the index of each element of x along that dimension, of the whole batch: 0, 1, 2, ... x says
//                how many there are and how they lie, and is not read. No gradient flows. Of a micro-batch
//                `first_sample` is its place in the batch
#include "ops/definitions/definitions.h"
#include "ops/forms/op_builder.h"
#include "ops/forms/op_checks.h"
#include "ops/forms/op_rules.h"
#include "ops/values/initializer.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

absl::StatusOr<std::vector<TensorType>> DeclaredType(const NodeView& node, int least_rank) {
  ASSIGN_OR_RETURN(const DType dtype, DTypeAttribute(node.attributes));
  ASSIGN_OR_RETURN(Shape shape, ShapeAttribute(node.attributes, least_rank));
  return std::vector<TensorType>{{dtype, std::move(shape)}};
}

// Of what outlives a step or comes from outside of it: bf16 is to compute on.
absl::StatusOr<std::vector<TensorType>> KeptType(const NodeView& node, int least_rank) {
  ASSIGN_OR_RETURN(std::vector<TensorType> types, DeclaredType(node, least_rank));
  if (types[0].dtype != DType::kBF16) return types;
  return InvalidArgument("attribute dtype is bf16; inputs, parameters and states are wider (a cast makes bf16)");
}

absl::StatusOr<std::vector<TensorType>> InputType(const NodeView& node) { return KeptType(node, 1); }

absl::StatusOr<std::vector<TensorType>> StateShape(const NodeView& node) {
  ASSIGN_OR_RETURN(std::vector<TensorType> types, KeptType(node, 0));
  RETURN_IF_ERROR(CheckInitializer(node.attributes, types[0].dtype, types[0].shape));
  return types;
}

absl::StatusOr<std::vector<TensorType>> ParameterShape(const NodeView& node) {
  ASSIGN_OR_RETURN(std::vector<TensorType> types, StateShape(node));
  if (types[0].shape.empty()) return InvalidArgument("attribute shape has no dimensions; a parameter has 1 to 8");
  if (!IsFloating(types[0].dtype)) {
    return InvalidArgument("attribute dtype is {}; a parameter is f32 or f64", Name(types[0].dtype));
  }
  return types;
}

absl::StatusOr<std::vector<TensorType>> ConstantShape(const NodeView& node) {
  ASSIGN_OR_RETURN(std::vector<TensorType> types, DeclaredType(node, 0));
  RETURN_IF_ERROR(CheckConstant("value", node.attributes.Float("value"), types[0].dtype));
  return types;
}

std::vector<Rule> InputRules(const NodeView& node) {
  return EveryDimension(static_cast<int>(node.attributes.Ints("shape").size()), {});
}

std::vector<Rule> StateRules(const NodeView& node) {
  std::vector<Rule> rules = InputRules(node);
  for (size_t d = 0; d < rules.size(); ++d) rules[d].name = fmt::format("dimension{}", d);
  return rules;
}

absl::StatusOr<std::vector<TensorType>> PositionsShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckFloating(node, 0, "x"));
  RETURN_IF_ERROR(CheckAtLeast(node.attributes, "first_sample", 0));
  const Shape& x = node.inputs[0]->shape;
  const int64_t axis = node.attributes.Int("axis");
  if (axis >= 0 && axis < static_cast<int64_t>(x.size())) return std::vector<TensorType>{*node.inputs[0]};
  return InvalidArgument("attribute axis is {}; x has {} dimensions", axis, x.size());
}

Op StateLike(const std::string& name) {
  return Op(name)
      .Attribute("dtype", "f32")
      .Required("shape", IntList())
      .Required("initializer", "constant")
      .Attribute("scale", 1.0)
      .Attribute("values", "")
      .Rules(StateRules);
}

}  // namespace

OpDefinition InputOp() {
  return Op("input")
      .As(Role::kInput)
      .Attribute("dtype", "f32")
      .Required("shape", IntList())
      .Attribute("field", "")
      .Shape(InputType)
      .Rules(InputRules);
}

OpDefinition ParameterOp() { return StateLike("parameter").As(Role::kParameter).Shape(ParameterShape); }

OpDefinition StateOp() { return StateLike("state").As(Role::kState).Attribute("like", "").Shape(StateShape); }

OpDefinition ConstantOp() {
  return Op("constant")
      .As(Role::kConstant)
      .Attribute("dtype", "f32")
      .Required("shape", IntList())
      .Required("value", 0.0)
      .Shape(ConstantShape)
      .Rules(StateRules);
}

OpDefinition PositionsOp() {
  return Op("positions")
      .Inputs({"x"})
      .Constant({"x"})
      .Required("axis", int64_t{0})
      .Attribute("first_sample", int64_t{0})
      .Shape(PositionsShape)
      .Rules(
          [](const NodeView& node) { return EveryDimension(static_cast<int>(node.inputs[0]->shape.size()), {true}); })
      .Flops([](const NodeView& node) { return Count(node.inputs[0]->shape); })
      .InPlace(0, 0);
}

}  // namespace partita
