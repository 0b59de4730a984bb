#include "tools/service/predictors.h"

#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/telemetry/progress.h"
#include "tools/service/requests/planned_run.h"
#include "tools/service/requests/status_of.h"

namespace partita::service {
namespace {

// The file's name and what changes if it is written again.
std::string VersionOf(const std::string& path) {
  struct stat file {};
  if (path.empty() || ::stat(path.c_str(), &file) != 0) return path;
  return fmt::format("{}:{}:{}:{}.{}", path, file.st_ino, file.st_size, file.st_mtim.tv_sec, file.st_mtim.tv_nsec);
}

std::string KeyOf(const PredictedModel& model) {
  v1::ModelSource source = model.source;
  if (source.has_path()) source.set_path(VersionOf(source.path()));
  return fmt::format("{}\n{}\n{}\n{}", source.SerializeAsString(), VersionOf(model.weights), model.settings,
                     fmt::join(model.values, "\n"));
}

// What predictions of the model are planned by: no data, and nothing of training.
absl::StatusOr<RunSpec> SpecOf(const PredictedModel& model, const GivenModel& given, const RunFiles& files) {
  v1::RunRequest request;
  request.set_settings(model.settings + "mock-data = true\n");
  return service::SpecOf(request, given, files);
}

}  // namespace

absl::StatusOr<Values> Predictors::Predict(const PredictedModel& model, const api::Fields& fields,
                                           std::chrono::system_clock::time_point until) {
  const std::string key = KeyOf(model);
  std::shared_ptr<Predictor> predictor = Find(key);
  if (predictor == nullptr) {
    ASSIGN_OR_RETURN(predictor, Start(model, key));
  }
  return predictor->batcher->Predict(fields, until);
}

std::shared_ptr<Predictors::Predictor> Predictors::Find(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = ready_.find(key);
  if (found == ready_.end()) return nullptr;
  found->second->used = ++calls_;
  return found->second;
}

absl::StatusOr<std::shared_ptr<Predictors::Predictor>> Predictors::Start(const PredictedModel& model,
                                                                         const std::string& key) {
  const std::lock_guard starting(starting_);
  if (std::shared_ptr<Predictor> ready = Find(key)) return ready;
  ASSIGN_OR_RETURN(const GivenModel given, GivenModel::Of(model.source, files_.folder));
  ASSIGN_OR_RETURN(const RunSpec spec, SpecOf(model, given, files_));
  ASSIGN_OR_RETURN(PlannedPrediction planned, PlanPrediction(spec, model.values));
  RETURN_IF_ERROR(MakeRoom(planned.bytes));
  ASSIGN_OR_RETURN(api::Model read, given.Read());
  if (spec.model().batch() > 0) {
    ASSIGN_OR_RETURN(read, ValueOf(read.WithBatch(spec.model().batch())));
  }
  api::Run run{.settings = model.settings, .predict = planned.values, .train = false};
  ASSIGN_OR_RETURN(api::Session session, ValueOf(api::Session::Start(read, run)));
  if (!model.weights.empty()) {
    if (const api::Outcome loaded = session.LoadWeights(model.weights)) return StatusOf(*loaded);
  }
  const std::vector<api::Field> inputs = read.fields();
  const int64_t batch = inputs.empty() || inputs[0].shape.empty() ? 1 : inputs[0].shape[0];
  auto predictor = std::make_shared<Predictor>();
  predictor->bytes = planned.bytes;
  predictor->batcher = std::make_unique<PredictBatcher>(
      std::move(session), BatchLimits{batch, limits_.delay, limits_.waiting},
      [this](int64_t requests, int64_t samples) { metrics_.CountBatch(requests, samples); });
  const std::lock_guard lock(mutex_);
  predictor->used = ++calls_;
  ready_[key] = predictor;
  metrics_.SetPredictors(static_cast<int64_t>(ready_.size()), UsedBytes());
  return predictor;
}

// The caller holds the mutex.
int64_t Predictors::UsedBytes() const {
  int64_t bytes = 0;
  for (const auto& [key, predictor] : ready_) bytes += predictor->bytes;
  return bytes;
}

absl::Status Predictors::MakeRoom(int64_t bytes) {
  if (bytes > limits_.bytes) {
    return ResourceExhausted("the model needs {} of memory by its plan; the service allows {} (--predict-memory)",
                             FormatBytes(bytes), FormatBytes(limits_.bytes));
  }
  std::vector<std::shared_ptr<Predictor>> ended;  // outlives the lock: the end of a session takes a while
  const std::lock_guard lock(mutex_);
  while (!ready_.empty() &&
         (static_cast<int64_t>(ready_.size()) >= limits_.count || UsedBytes() + bytes > limits_.bytes)) {
    const auto oldest =
        std::ranges::min_element(ready_, {}, [](const auto& predictor) { return predictor.second->used; });
    ended.push_back(std::move(oldest->second));
    ready_.erase(oldest);
  }
  return absl::OkStatus();
}

}  // namespace partita::service
