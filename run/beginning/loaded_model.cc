#include "run/beginning/loaded_model.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "run/spec/spec_error.h"

namespace partita {
namespace {

States StatesFor(const ModelFile& file, bool trains) {
  if (!trains) return States::kEvaluated;
  return file.record().training ? States::kAll : States::kWeights;
}

}  // namespace

Beginning LoadedModel::beginning() const {
  return {.path = file.path(), .record = file.record(), .goes_on = states == States::kAll};
}

absl::StatusOr<std::optional<LoadedModel>> OpenLoaded(const RunSpec& spec, const Model& model, bool trains) {
  const bool weights_only = spec.model().load_weights_only();
  RETURN_IF_ERROR(CheckForeignFlags(spec));
  if (!spec.model().has_load()) return std::nullopt;
  const std::string& path = spec.model().load();
  if (std::error_code error; std::filesystem::is_directory(path, error)) {
    return InvalidArgument(
        "{}: is a folder; expected a model file: convert CHECKPOINT --output=FILE makes one of a "
        "checkpoint, and train --resume=CHECKPOINT resumes training",
        path);
  }
  if (LoadsForeignWeights(spec)) {
    ASSIGN_OR_RETURN(ForeignWeights foreign, ReadForeignWeights(spec, model));
    ASSIGN_OR_RETURN(ModelFile made, ModelFile::Open(model, foreign.file->path()));
    return LoadedModel{std::move(made), trains ? States::kWeights : States::kEvaluated, std::move(foreign)};
  }
  ASSIGN_OR_RETURN(ModelFile file, ModelFile::Open(model, path));
  if (weights_only) {
    file.ForgetRecord();
    return LoadedModel{std::move(file), States::kWeights};
  }
  const States states = StatesFor(file, trains);
  LoadedModel loaded{std::move(file), states};
  RETURN_IF_ERROR(CheckInputs(spec.model().graph(), loaded.beginning(), model));
  return loaded;
}

}  // namespace partita
