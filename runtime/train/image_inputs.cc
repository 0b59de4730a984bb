#include "runtime/train/image_inputs.h"

#include "graph/ir/entry_point.h"
#include "runtime/base/status.h"
#include "runtime/train/graph_fields.h"

namespace partita {
namespace {

std::string Printed(const std::string& field, const TensorType& type) {
  return fmt::format("input '{}' {}{}", field, Name(type.dtype), ToString(type.shape));
}

bool IsImages(const TensorType& type) {
  return IsFloating(type.dtype) && (type.shape.size() == 4 || type.shape.size() == 2);
}

absl::Status AddInput(const std::string& field, const TensorType& type, ImageInputs& inputs) {
  const bool images = IsImages(type);
  if (!images && (type.dtype != DType::kI32 || type.shape.size() != 1)) {
    return InvalidArgument(
        "{}: a folder of images and labels does not give this, but images, floating [batch, height, width, channels] "
        "or [batch, pixels], and labels, i32 [batch]; other data is arrays (--data=FILE.npz) or text",
        Printed(field, type));
  }
  std::string& name = images ? inputs.images : inputs.labels;
  if (!name.empty()) {
    return InvalidArgument("{}: input '{}' takes the {} already; one is allowed", Printed(field, type), name,
                           images ? "images" : "labels");
  }
  name = field;
  if (images) inputs.type = type;
  return absl::OkStatus();
}

}  // namespace

ImageShape ImageInputs::shape() const {
  const Shape& s = type.shape;
  return s.size() == 4 ? ImageShape{s[1], s[2], s[3]} : ImageShape{1, s[1], 1};
}

absl::StatusOr<ImageInputs> FindImageInputs(const Graph& forward) {
  ImageInputs inputs;
  for (const EntryInput& input : InputsOf(forward)) {
    RETURN_IF_ERROR(AddInput(input.field, forward.type(input.values[0]), inputs));
  }
  if (inputs.images.empty() || inputs.labels.empty()) {
    return InvalidArgument("the graph has no input for {}", inputs.images.empty() ? "images" : "labels");
  }
  for (const WantedField& field : WantedFields(forward, DType::kF32)) {
    if (field.field.name == inputs.labels) inputs.classes = field.classes;
  }
  if (inputs.classes == 0) {
    return InvalidArgument("the graph has no op that tells classes apart, so labelled images cannot train it");
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
