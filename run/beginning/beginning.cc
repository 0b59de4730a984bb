#include "run/beginning/beginning.h"

#include "runtime/base/status.h"
#include "runtime/train/image_inputs.h"

namespace partita {

// The graph's inputs are what images are checked against as well.
absl::Status CheckInputs(const std::string& graph, const Beginning& beginning, const Model& model) {
  const std::optional<Preprocessing>& saved = beginning.record.preprocessing;
  if (!saved) return absl::OkStatus();
  const absl::StatusOr<ImageInputs> inputs = FindImageInputs(model.graph);
  if (!inputs.ok()) {
    return WithContext(fmt::format("{}: {} was trained on images", graph, beginning.path), inputs.status());
  }
  const bool flat = inputs->type.shape.size() == 2;
  return CheckSameImages(beginning.path, *saved, graph, inputs->shape(), inputs->classes, flat);
}

std::optional<Preprocessing> PreprocessingOf(const std::optional<Beginning>& beginning) {
  return beginning ? beginning->record.preprocessing : std::nullopt;
}

ByteScales ScalesOf(const std::optional<Beginning>& beginning) {
  return beginning ? beginning->record.scales : ByteScales();
}

absl::Status CheckImages(const Beginning& beginning, const TrainingData& data) {
  constexpr char kOtherwise[] = "with --load-weights-only its weights are taken alone";
  if (beginning.record.preprocessing && !data.preprocessing) {
    return InvalidArgument(
        "{}: its metadata says how images of bytes are normalised, and the data is arrays, which are taken as they "
        "are; "
        "{}",
        beginning.path, kOtherwise);
  }
  if (beginning.record.scales.empty() || !data.preprocessing) return absl::OkStatus();
  return InvalidArgument(
      "{}: its metadata says what bytes of arrays become, and the data is images, which are normalised in another way; "
      "{}",
      beginning.path, kOtherwise);
}

}  // namespace partita
