#include "tools/commands/input/beginning.h"

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

absl::Status CheckImages(const Beginning& beginning, const TrainingData& data) {
  if (!beginning.record.preprocessing || data.preprocessing) return absl::OkStatus();
  return InvalidArgument(
      "{}: its metadata says how images of bytes are normalised, and the data is arrays, which are taken as they are; "
      "with --load-weights-only its weights are taken alone",
      beginning.path);
}

}  // namespace partita
