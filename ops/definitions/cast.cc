// The same numbers in another element type. Between floats it is linear (P passes) and its gradient casts back; from or
// to integers no gradient flows. Floats become integers by truncation.
//
// Where the gradient makes numbers wider (a weight's, of which a layer reads a bf16 copy), every term of the sum that
// the cotangent is goes through it alone: nodes, micro-batches and ranks are then added up in the wide type, by the
// same all_reduce as without the cast. What is moved is wide, too: four bytes for an element of a bf16 layer's weight.
//
//   pixels(bytes)   bytes of pictures as numbers: (byte / 255 - mean) / deviation, by the last dimension, the channels.
//                   Nobody writes it: it stands behind an input of which data gives bytes (graph/given/give_inputs.h).
#include "ops/definitions/definitions.h"
#include "ops/forms/op_builder.h"
#include "ops/forms/op_checks.h"
#include "ops/forms/op_rules.h"
#include "ops/values/pixel_scale.h"
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

absl::StatusOr<std::vector<TensorType>> PixelsShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckDType(node, 0, "bytes", DType::kU8));
  ASSIGN_OR_RETURN(const DType dtype, DTypeAttribute(node.attributes));
  if (dtype != DType::kF32 && dtype != DType::kF64) {
    return InvalidArgument("attribute dtype is {}; numbers of pixels are f32 or f64", Name(dtype));
  }
  const Shape& shape = node.inputs[0]->shape;
  if (shape.empty()) return InvalidArgument("input bytes has shape []; the last dimension are the channels");
  RETURN_IF_ERROR(ReadPixelScale(node.attributes, shape.back()).status());
  return std::vector<TensorType>{{dtype, shape}};
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

OpDefinition PixelsOp() {
  return Op("pixels")
      .Inputs({"bytes"})
      .Attribute("dtype", "f32")
      .Attribute("mean", "0")
      .Attribute("deviation", "1")
      .Internal()
      .Shape(PixelsShape)
      .Rules(
          [](const NodeView& node) { return EveryDimension(static_cast<int>(node.inputs[0]->shape.size()), {true}); })
      .Flops([](const NodeView& node) { return 3 * Count(node.inputs[0]->shape); });
}

}  // namespace partita
