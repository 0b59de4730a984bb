#include "tools/service/requests/asked_run.h"

#include <atomic>
#include <filesystem>
#include <system_error>
#include <utility>

#include "graph/value/node_name.h"
#include "partita/spec_of.h"
#include "run/spec/config_file.h"
#include "run/spec/flag.h"
#include "runtime/base/files.h"
#include "runtime/base/status.h"
#include "tools/service/requests/status_of.h"

namespace partita::service {
namespace {

// Of a process, which is alone in its folder.
std::string NewPath(const std::string& folder) {
  static std::atomic<int64_t> count{0};
  return fmt::format("{}/model-{}.pbtxt", folder, ++count);
}

void AddFiles(const RunFiles& files, RunSpec& spec) {
  CheckpointSpec& checkpoints = *spec.mutable_checkpoints();
  if (!checkpoints.has_checkpoint()) checkpoints.set_checkpoint(files.folder + "/checkpoints");
  if (!checkpoints.has_checkpoint_every()) checkpoints.set_checkpoint_every(files.checkpoint_every);
  if (!spec.saving().has_save()) spec.mutable_saving()->set_save(files.folder + "/model.safetensors");
}

}  // namespace

absl::StatusOr<GivenModel> GivenModel::Of(const v1::ModelSource& source, const std::string& folder) {
  GivenModel model;
  model.import_ = {.loss = source.loss(), .frozen_statistics = source.frozen_statistics()};
  switch (source.graph_case()) {
    case v1::ModelSource::GRAPH_NOT_SET:
      return InvalidArgument("the request has no model; expected its path or its text");
    case v1::ModelSource::kPath:
      model.path_ = source.path();
      if (std::filesystem::path(model.path_).is_absolute()) return model;
      return InvalidArgument("model.path is {}; expected an absolute path on the service's machine",
                             Quoted(model.path_));
    case v1::ModelSource::kText:
      break;
  }
  RETURN_IF_ERROR(ValueOf(api::Model::FromText(source.text())).status());
  model.path_ = NewPath(folder);
  model.is_text_ = true;
  RETURN_IF_ERROR(WriteFileAtomically(model.path_, source.text()));
  return model;
}

GivenModel::GivenModel(GivenModel&& other) noexcept
    : path_(std::move(other.path_)),
      is_text_(std::exchange(other.is_text_, false)),
      import_(std::move(other.import_)) {}

GivenModel::~GivenModel() {
  std::error_code ignored;
  if (is_text_) std::filesystem::remove(path_, ignored);
}

absl::StatusOr<api::Model> GivenModel::Read() const { return ValueOf(api::Model::FromFile(path_, import_)); }

absl::Status GivenModel::KeepAs(const std::string& path) {
  std::error_code error;
  std::filesystem::rename(path_, path, error);
  if (error) return ResourceExhausted("{}: cannot be written: {}", path, error.message());
  path_ = path;
  is_text_ = false;
  return absl::OkStatus();
}

absl::StatusOr<RunSpec> SpecOf(const v1::RunRequest& request, const GivenModel& model, const RunFiles& files) {
  std::string text = request.settings();
  if (request.has_spec()) {
    ASSIGN_OR_RETURN(text, SettingsOf(request.spec()));
  }
  ASSIGN_OR_RETURN(RunSpec given, api::SettingsIn(text));
  AddFiles(files, given);
  ASSIGN_OR_RETURN(text, SettingsOf(given));
  ASSIGN_OR_RETURN(RunSpec spec, api::SpecOf(model.path(), api::Run{.settings = text}));
  if (!spec.dataset().has_data() && !spec.dataset().mock_data()) {
    return InvalidArgument("the run has no data; expected the setting data, or mock-data");
  }
  if (!model.import().loss.empty()) spec.mutable_model()->set_loss(model.import().loss);
  if (model.import().frozen_statistics) spec.mutable_model()->set_freeze_statistics(true);
  return spec;
}

absl::StatusOr<std::string> SettingsOf(const RunSpec& spec) {
  std::string settings;
  for (const GivenFlag& given : GivenFlags(spec)) {
    if (given.value.empty()) continue;
    const absl::StatusOr<std::string> quoted = QuoteConfigValue(given.value);
    if (!quoted.ok()) return WithContext("setting " + given.flag.name, quoted.status());
    settings += fmt::format("{} = {}\n", given.flag.name, *quoted);
  }
  return settings;
}

}  // namespace partita::service
