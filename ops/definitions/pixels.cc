// Bytes of pictures as numbers: y = (byte / 255 - mean) / deviation, by the last dimension, the channels. Nobody writes
// it: it stands behind an input of which data gives bytes (graph/passes/give_inputs.h), so that a batch travels as
// bytes and the numbers are made where they are computed on. No gradient flows to bytes.
#include "ops/definitions/definitions.h"
#include "ops/forms/op_builder.h"
#include "ops/forms/op_checks.h"
#include "ops/forms/op_rules.h"
#include "ops/values/pixel_scale.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

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
