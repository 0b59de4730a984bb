// Ops without inputs: what enters a graph. A source may be split along any dimension; nobody computes it from others.
//
//   input()      a batch of samples, set before each step from the batch's field of that name (`field`; empty: the
//                name of the node). Dimension names as DimensionName: samples, channels, ...
//   parameter()  a trainable state, filled once by its initializer (ops/values/initializer.h)
//   state()      a state that no gradient reaches: running statistics, optimizer slots, the iteration counter; `like`
//                names a state of the same attributes, with whose values it begins
//   constant()   filled with `value`
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

}  // namespace partita
