// The service's calls (proto/service.proto): who may call, what a request says, what is answered.
#ifndef PARTITA_TOOLS_SERVICE_CALLS_H_
#define PARTITA_TOOLS_SERVICE_CALLS_H_

#include <atomic>
#include <map>
#include <mutex>
#include <string>

#include "proto/service.grpc.pb.h"
#include "tools/service/predictors.h"
#include "tools/service/requests/access_token.h"
#include "tools/service/requests/asked_run.h"
#include "tools/service/requests/planned_run.h"
#include "tools/service/run_registry.h"
#include "tools/service/service_metrics.h"

namespace partita::service {

class Calls final : public v1::Partita::Service {
 public:
  struct Parts {
    AccessToken token;
    PlanLimits plan;
    v1::ServiceLimits limits;  // but for what is in use
    RunFiles files;            // of runs that are only planned; the folder has models that come as text meanwhile
  };
  // The registry, predictors and metrics must outlive it.
  Calls(Parts parts, RunRegistry& runs, Predictors& predictors, ServiceMetrics& metrics)
      : parts_(std::move(parts)), runs_(runs), predictors_(predictors), metrics_(metrics) {}

  // Ends the calls of Watch.
  void Stop() { stops_ = true; }

  grpc::Status Submit(grpc::ServerContext* context, const v1::RunRequest* request, v1::RunStatus* reply) override;
  grpc::Status Plan(grpc::ServerContext* context, const v1::RunRequest* request, v1::PlanReply* reply) override;
  grpc::Status Watch(grpc::ServerContext* context, const v1::RunName* request,
                     grpc::ServerWriter<v1::RunStatus>* replies) override;
  grpc::Status Cancel(grpc::ServerContext* context, const v1::RunName* request, v1::RunStatus* reply) override;
  grpc::Status Resume(grpc::ServerContext* context, const v1::RunName* request, v1::RunStatus* reply) override;
  grpc::Status Save(grpc::ServerContext* context, const v1::RunName* request, v1::SaveReply* reply) override;
  grpc::Status Predict(grpc::ServerContext* context, const v1::PredictRequest* request,
                       v1::PredictReply* reply) override;
  grpc::Status Status(grpc::ServerContext* context, const v1::StatusRequest* request, v1::StatusReply* reply) override;

 private:
  template <typename Work>
  grpc::Status Answer(const grpc::ServerContext& context, const char* method, const Work& work);
  absl::StatusOr<PredictedModel> ModelOf(const v1::PredictRequest& request);
  absl::StatusOr<PredictedModel> ModelOfRun(const std::string& id);

  const Parts parts_;
  RunRegistry& runs_;
  Predictors& predictors_;
  ServiceMetrics& metrics_;
  std::timed_mutex planning_;  // one plan at a time, so that many requests need the memory of one
  std::mutex models_mutex_;
  std::map<std::string, PredictedModel> models_;  // by run, without weights and values: requests of runs do not change
  std::atomic<bool> stops_{false};
};

}  // namespace partita::service

#endif  // PARTITA_TOOLS_SERVICE_CALLS_H_
