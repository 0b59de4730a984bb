#include "tools/service/calls.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <exception>
#include <memory>
#include <utility>

#include "run/host/version.h"
#include "run/spec/flag.h"
#include "runtime/base/exhaustion.h"
#include "runtime/base/status.h"
#include "tools/service/requests/status_of.h"
#include "tools/service/requests/tensors.h"

namespace partita::service {
namespace {

// How late Watch sees that its client is gone, or that the service stops.
constexpr std::chrono::milliseconds kWatchInterval(250);

// After a wait for other plans.
absl::Status StillAwaited(const grpc::ServerContext& context, bool in_time) {
  if (!in_time) return absl::DeadlineExceededError("the deadline passed while other runs were planned");
  return context.IsCancelled() ? absl::CancelledError("the client has left") : absl::OkStatus();
}

// What a prediction shares with the run: what `trainer predict` takes of the model's settings, adapters among them, and
// of how it is executed. Everything else is of training, or of the source of the model.
absl::StatusOr<std::string> PredictSettings(const RunSpec& run) {
  RunSpec spec;
  *spec.mutable_model() = run.model();
  *spec.mutable_execution() = run.execution();
  for (const GivenFlag& given : GivenFlags(spec)) {
    if (!IsTakenBy(*given.flag.path.back(), "predict")) ClearValue(given.flag, spec);
  }
  spec.mutable_model()->clear_graph();
  spec.mutable_model()->clear_loss();
  spec.mutable_model()->clear_freeze_statistics();
  return SettingsOf(spec);
}

}  // namespace

// What every call has in common. `work` returns a Status.
template <typename Work>
grpc::Status Calls::Answer(const grpc::ServerContext& context, const char* method, const Work& work) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  absl::Status status = parts_.token.Check(context);
  try {
    if (status.ok()) status = OrExhausted(method, work);
  } catch (const std::exception& bug) {
    status = Internal("{}: unexpected: {}", method, bug.what());
  }
  metrics_.CountCall(method, status, std::chrono::duration<double>(Clock::now() - begin).count());
  return ToGrpc(status);
}

grpc::Status Calls::Submit(grpc::ServerContext* context, const v1::RunRequest* request, v1::RunStatus* reply) {
  return Answer(*context, "Submit", [&]() -> absl::Status {
    ASSIGN_OR_RETURN(GivenModel model, GivenModel::Of(request->model(), parts_.files.folder));
    RETURN_IF_ERROR(model.Read().status());
    ASSIGN_OR_RETURN(const RunSpec spec, SpecOf(*request, model, parts_.files));
    PlannedRun planned;
    {
      const std::unique_lock lock(planning_, context->deadline());
      RETURN_IF_ERROR(StillAwaited(*context, lock.owns_lock()));
      ASSIGN_OR_RETURN(planned, PlanTraining(spec, parts_.plan));
    }
    ASSIGN_OR_RETURN(*reply, runs_.Submit(*request, std::move(model), planned));
    return absl::OkStatus();
  });
}

grpc::Status Calls::Plan(grpc::ServerContext* context, const v1::RunRequest* request, v1::PlanReply* reply) {
  return Answer(*context, "Plan", [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const GivenModel model, GivenModel::Of(request->model(), parts_.files.folder));
    RETURN_IF_ERROR(model.Read().status());
    ASSIGN_OR_RETURN(const RunSpec spec, SpecOf(*request, model, parts_.files));
    const std::unique_lock lock(planning_, context->deadline());
    RETURN_IF_ERROR(StillAwaited(*context, lock.owns_lock()));
    ASSIGN_OR_RETURN(const PlannedRun planned, PlanTraining(spec, parts_.plan));
    reply->set_ranks(planned.ranks);
    reply->set_planned_bytes(planned.bytes);
    ASSIGN_OR_RETURN(*reply->mutable_json(), PlanAsJson(spec));
    return absl::OkStatus();
  });
}

grpc::Status Calls::Watch(grpc::ServerContext* context, const v1::RunName* request,
                          grpc::ServerWriter<v1::RunStatus>* replies) {
  return Answer(*context, "Watch", [&]() -> absl::Status {
    for (int64_t seen = 0;;) {
      const auto until = std::chrono::system_clock::now() + kWatchInterval;
      ASSIGN_OR_RETURN(const RunRegistry::Watched run, runs_.WaitForChange(request->id(), seen, until));
      const bool is_new = run.version > seen;
      seen = run.version;
      if (context->IsCancelled()) return absl::CancelledError("the client has left, or its deadline has passed");
      if (is_new && !replies->Write(run.status)) return absl::CancelledError("the client has left");
      if (HasEnded(run.status.state())) return absl::OkStatus();
      if (stops_) return absl::UnavailableError("the service is stopping");
    }
  });
}

grpc::Status Calls::Cancel(grpc::ServerContext* context, const v1::RunName* request, v1::RunStatus* reply) {
  return Answer(*context, "Cancel", [&]() -> absl::Status {
    ASSIGN_OR_RETURN(*reply, runs_.Cancel(request->id()));
    return absl::OkStatus();
  });
}

grpc::Status Calls::Resume(grpc::ServerContext* context, const v1::RunName* request, v1::RunStatus* reply) {
  return Answer(*context, "Resume", [&]() -> absl::Status {
    ASSIGN_OR_RETURN(*reply, runs_.Resume(request->id()));
    return absl::OkStatus();
  });
}

grpc::Status Calls::Save(grpc::ServerContext* context, const v1::RunName* request, v1::SaveReply* reply) {
  return Answer(*context, "Save", [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const v1::RunStatus run, runs_.Save(request->id(), context->deadline()));
    reply->set_model_file(run.model_file());
    reply->set_step(run.progress().step());
    return absl::OkStatus();
  });
}

absl::StatusOr<PredictedModel> Calls::ModelOfRun(const std::string& id) {
  const std::lock_guard lock(models_mutex_);
  const auto found = models_.find(id);
  if (found != models_.end()) return found->second;
  ASSIGN_OR_RETURN(const v1::RunRequest asked, runs_.RequestOf(id));
  ASSIGN_OR_RETURN(const GivenModel given, GivenModel::Of(asked.model(), parts_.files.folder));
  ASSIGN_OR_RETURN(const RunSpec spec, SpecOf(asked, given, parts_.files));
  PredictedModel model;
  model.source = asked.model();
  ASSIGN_OR_RETURN(model.settings, PredictSettings(spec));
  return models_[id] = std::move(model);
}

absl::StatusOr<PredictedModel> Calls::ModelOf(const v1::PredictRequest& request) {
  PredictedModel model;
  if (request.has_saved()) {
    model.source = request.saved().model();
    model.weights = request.saved().weights();
    if (request.saved().batch() != 0) model.settings = fmt::format("batch = {}\n", request.saved().batch());
    model.values.assign(request.values().begin(), request.values().end());
    return model;
  }
  if (!request.has_run()) return InvalidArgument("the request names neither a run nor a saved model");
  ASSIGN_OR_RETURN(const v1::RunStatus run, runs_.StatusOf(request.run()));
  if (run.model_file().empty()) {
    return absl::FailedPreconditionError(fmt::format("run {} is {} and has no saved model yet; Save writes one",
                                                     run.id(), v1::RunState_Name(run.state())));
  }
  ASSIGN_OR_RETURN(model, ModelOfRun(request.run()));
  model.weights = run.model_file();
  model.values.assign(request.values().begin(), request.values().end());
  return model;
}

grpc::Status Calls::Predict(grpc::ServerContext* context, const v1::PredictRequest* request, v1::PredictReply* reply) {
  return Answer(*context, "Predict", [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const api::Fields fields, FieldsOf(*request));
    ASSIGN_OR_RETURN(const PredictedModel model, ModelOf(*request));
    ASSIGN_OR_RETURN(const Values values, predictors_.Predict(model, fields, context->deadline()));
    for (const auto& [name, value] : values) (*reply->mutable_values())[name] = ToMessage(value);
    return absl::OkStatus();
  });
}

grpc::Status Calls::Status(grpc::ServerContext* context, const v1::StatusRequest* request, v1::StatusReply* reply) {
  return Answer(*context, "Status", [&]() -> absl::Status {
    if (!request->id().empty()) {
      ASSIGN_OR_RETURN(*reply->add_runs(), runs_.StatusOf(request->id()));
    } else {
      for (v1::RunStatus& run : runs_.All()) *reply->add_runs() = std::move(run);
    }
    *reply->mutable_limits() = parts_.limits;
    reply->mutable_limits()->set_used_bytes(runs_.used_bytes());
    reply->mutable_versions()->insert({"partita", kToolVersion});
    reply->mutable_versions()->insert({"grpc", grpc::Version()});
    for (const auto& [name, version] : LibraryVersions()) reply->mutable_versions()->insert({name, version});
    return absl::OkStatus();
  });
}

}  // namespace partita::service
