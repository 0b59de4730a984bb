#include "runtime/train/image_inputs.h"

#include "graph/ir/op_definition.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

std::string Printed(const Value& value) {
  return fmt::format("input '{}' {}{}", value.name, Name(value.type.dtype), ToString(value.type.shape));
}

bool IsImages(const TensorType& type) {
  return IsFloating(type.dtype) && (type.shape.size() == 4 || type.shape.size() == 2);
}

absl::Status AddInput(const Value& value, ImageInputs& inputs) {
  const bool images = IsImages(value.type);
  if (!images && (value.type.dtype != DType::kI32 || value.type.shape.size() != 1)) {
    return InvalidArgument(
        "{}: no data set gives this; allowed are images, floating [batch, height, width, channels] or [batch, pixels], "
        "and labels, i32 [batch]",
        Printed(value));
  }
  std::string& name = images ? inputs.images : inputs.labels;
  if (!name.empty()) {
    return InvalidArgument("{}: input '{}' takes the {} already; one is allowed", Printed(value), name,
                           images ? "images" : "labels");
  }
  name = value.name;
  if (images) inputs.type = value.type;
  return absl::OkStatus();
}

}  // namespace

ImageShape ImageInputs::shape() const {
  const Shape& s = type.shape;
  return s.size() == 4 ? ImageShape{s[1], s[2], s[3]} : ImageShape{1, s[1], 1};
}

absl::StatusOr<ImageInputs> FindImageInputs(const Graph& forward) {
  ImageInputs inputs;
  for (const Node& node : forward.nodes()) {
    const Value& value = forward.value(node.outputs[0]);
    const OpDefinition& op = *node.op;
    if (op.role == Role::kInput) RETURN_IF_ERROR(AddInput(value, inputs));
    if (op.role == Role::kAccuracy) inputs.accuracy = value.name;
    if (op.role == Role::kLoss && op.classes >= 0) {
      inputs.classes = forward.type(node.inputs[static_cast<size_t>(op.classes)]).shape.back();
    }
  }
  if (inputs.images.empty() || inputs.labels.empty()) {
    return InvalidArgument("the graph has no input for {}", inputs.images.empty() ? "images" : "labels");
  }
  if (inputs.classes == 0) {
    return InvalidArgument("the graph has no loss that tells classes apart, so labelled images cannot train it");
  }
  return inputs;
}

absl::Status CheckDataset(const ImageInputs& inputs, const ImageDataset& dataset, const std::string& source) {
  const ImageShape& found = dataset.shape;
  const bool flat = inputs.type.shape.size() == 2;
  if (flat ? found.elements() != inputs.type.shape[1] : found != inputs.shape()) {
    return InvalidArgument("{}: the images are {} x {} x {}, input '{}' is {}", source, found.height, found.width,
                           found.channels, inputs.images, ToString(inputs.type.shape));
  }
  if (dataset.classes <= inputs.classes) return absl::OkStatus();
  return InvalidArgument("{}: there are {} classes, the graph tells {} apart", source, dataset.classes, inputs.classes);
}

}  // namespace partita
