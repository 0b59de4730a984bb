#include "tools/commands/input/loaded_model.h"

#include <utility>

#include "runtime/train/image_inputs.h"
#include "tools/program/exit_code.h"

namespace partita {
namespace {

// The graph's inputs are what images are checked against as well.
absl::Status CheckInputs(const std::string& graph, const ModelFile& file, const Model& model) {
  const std::optional<Preprocessing>& saved = file.record().preprocessing;
  if (!saved) return absl::OkStatus();
  const absl::StatusOr<ImageInputs> inputs = FindImageInputs(model.graph);
  if (!inputs.ok()) {
    return WithContext(fmt::format("{}: {} was trained on images", graph, file.path()), inputs.status());
  }
  const bool flat = inputs->type.shape.size() == 2;
  return CheckSameImages(file.path(), *saved, graph, inputs->shape(), inputs->classes, flat);
}

States StatesFor(const ModelFile& file, bool trains) {
  if (!trains) return States::kEvaluated;
  return file.record().training ? States::kAll : States::kWeights;
}

}  // namespace

std::vector<std::string> LoadFlags() { return {"load", "load-weights-only"}; }

std::optional<Normalization> NormalizationOf(const std::optional<LoadedModel>& loaded) {
  if (!loaded || !loaded->file.record().preprocessing) return std::nullopt;
  return loaded->file.record().preprocessing->normalization;
}

absl::Status CheckImages(const LoadedModel& loaded, const TrainingData& data) {
  if (!loaded.file.record().preprocessing || data.preprocessing) return absl::OkStatus();
  return InvalidArgument(
      "{}: its metadata says how images of bytes are normalised, and the data is arrays, which are taken as they are; "
      "with --load-weights-only its weights are taken alone",
      loaded.file.path());
}

const TrainingPosition* LoadedModel::position() const {
  return states == States::kAll ? &*file.record().training : nullptr;
}

absl::StatusOr<std::optional<LoadedModel>> OpenLoaded(const Flags& flags, const Model& model, bool trains) {
  const bool weights_only = flags.Bool("load-weights-only");
  if (!flags.IsSet("load")) {
    if (weights_only) return FlagError("flag --load-weights-only says what is taken from a file: --load is needed");
    return std::nullopt;
  }
  ASSIGN_OR_RETURN(ModelFile file, ModelFile::Open(model, flags.Text("load")));
  if (weights_only) {
    file.ForgetRecord();
    return LoadedModel{std::move(file), States::kWeights};
  }
  RETURN_IF_ERROR(CheckInputs(flags.arguments()[0], file, model));
  const States states = StatesFor(file, trains);
  return LoadedModel{std::move(file), states};
}

}  // namespace partita
