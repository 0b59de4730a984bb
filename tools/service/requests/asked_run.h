// A client's request to train, checked, and as the library takes it.
#ifndef PARTITA_TOOLS_SERVICE_REQUESTS_ASKED_RUN_H_
#define PARTITA_TOOLS_SERVICE_REQUESTS_ASKED_RUN_H_

#include <string>

#include "absl/status/statusor.h"
#include "partita/partita.h"
#include "proto/run.pb.h"
#include "proto/service.pb.h"

namespace partita::service {

// The file of a model. Of a model that came as text it is a new one in a folder, which is removed unless it is kept.
class GivenModel {
 public:
  // kInvalidArgument: there is no model, or its path is relative.
  static absl::StatusOr<GivenModel> Of(const v1::ModelSource& source, const std::string& folder);
  GivenModel(GivenModel&& other) noexcept;
  GivenModel& operator=(GivenModel&& other) = delete;
  ~GivenModel();

  const std::string& path() const { return path_; }
  bool is_text() const { return is_text_; }
  const api::Import& import() const { return import_; }
  absl::StatusOr<api::Model> Read() const;
  // Of a text: moves the file, which is no longer removed.
  absl::Status KeepAs(const std::string& path);

 private:
  GivenModel() = default;

  std::string path_;
  bool is_text_ = false;
  api::Import import_;
};

// Where the files of a run are, and how often checkpoints are written, if its settings do not say.
struct RunFiles {
  std::string folder;
  std::string checkpoint_every;
};

// All settings of the run of that model. kInvalidArgument, with the library's sentence: a setting that there is not, or
// a value that is not allowed.
absl::StatusOr<RunSpec> SpecOf(const v1::RunRequest& request, const GivenModel& model, const RunFiles& files);

// As the library takes them.
absl::StatusOr<std::string> SettingsOf(const RunSpec& spec);

}  // namespace partita::service

#endif  // PARTITA_TOOLS_SERVICE_REQUESTS_ASKED_RUN_H_
