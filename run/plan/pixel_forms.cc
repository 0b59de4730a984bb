#include "run/plan/pixel_forms.h"

#include <cstdint>

#include "ops/functors/pixels.h"
#include "ops/values/pixel_scale.h"

namespace partita {

DType PixelTypeOf(const ImageInputs& inputs, const Normalization& normalization, DType floating) {
  const auto channels = static_cast<int64_t>(normalization.mean.size());
  const bool known = channels == 1 || (channels == inputs.type.shape.back() && channels <= kMostPixelChannels);
  return known ? DType::kU8 : floating;
}

GivenForms GivenFormsOf(const TrainingData& data) {
  GivenForms forms;
  for (const auto& [field, normalization] : data.pixels) {
    forms[field] = {DType::kU8, "pixels", PixelAttributes(normalization.mean, normalization.deviation)};
  }
  return forms;
}

GivenForms AssumedForms(const Graph& graph) {
  TrainingData data;
  const absl::StatusOr<ImageInputs> inputs = FindImageInputs(graph);
  if (!inputs.ok()) return {};
  const Normalization none = NoNormalization(inputs->shape().channels);
  if (PixelTypeOf(*inputs, none, inputs->type.dtype) == DType::kU8) data.pixels[inputs->images] = none;
  return GivenFormsOf(data);
}

}  // namespace partita
