#include "tools/service/server.h"

#include <grpc/support/log.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include <chrono>
#include <memory>
#include <thread>

#include "graph/value/node_name.h"
#include "run/host/host.h"
#include "run/host/log.h"
#include "run/spec/spec_error.h"
#include "run/train/checkpointer.h"
#include "runtime/base/memory.h"
#include "runtime/base/status.h"
#include "runtime/base/text_file.h"
#include "tools/service/calls.h"
#include "tools/service/predictors.h"
#include "tools/service/requests/access_token.h"
#include "tools/service/run_folder.h"
#include "tools/service/run_registry.h"
#include "tools/service/service_metrics.h"

namespace partita::service {
namespace {

// How late a signal is seen.
constexpr std::chrono::milliseconds kStopInterval(50);

// That calls in progress have to end once the runs have.
constexpr std::chrono::seconds kLastCalls(5);

// Shares of the machine's memory, of what is not a flag.
constexpr double kRunsShare = 0.6, kPredictorsShare = 0.2;

// Lines of gRPC are for its developers, but for those that say why a connection failed.
void LogOfGrpc(gpr_log_func_args* line) {
  Log(line->severity == GPR_LOG_SEVERITY_ERROR ? LogLevel::kWarning : LogLevel::kDebug, line->message);
}

int64_t ShareOfMemory(double share) { return static_cast<int64_t>(share * static_cast<double>(MeasureMemory().total)); }

bool IsOfThisMachine(const std::string& address) {
  return address.starts_with("127.") || address.starts_with("localhost:") || address.starts_with("[::1]:") ||
         address.starts_with("unix:");
}

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> CredentialsOf(const ServiceSpec& spec) {
  constexpr int64_t kLargest = 1 << 20;
  if (!spec.has_tls_certificate()) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options;
  ASSIGN_OR_RETURN(const std::string certificate, ReadTextFile(spec.tls_certificate(), kLargest));
  ASSIGN_OR_RETURN(const std::string key, ReadTextFile(spec.tls_key(), kLargest));
  options.pem_key_cert_pairs.push_back({key, certificate});
  return grpc::SslServerCredentials(options);
}

v1::ServiceLimits LimitsOf(const ServiceSpec& spec) {
  v1::ServiceLimits limits;
  limits.set_memory_bytes(spec.has_memory() ? spec.memory() : ShareOfMemory(kRunsShare));
  limits.set_ranks(spec.has_ranks() ? static_cast<int>(spec.ranks()) : ThisHost().cores);
  limits.set_runs(static_cast<int>(spec.runs()));
  limits.set_queued_runs(static_cast<int>(spec.queue()));
  limits.set_message_bytes(spec.message_bytes());
  limits.set_waiting_predictions(static_cast<int>(spec.predict_queue()));
  return limits;
}

PredictorLimits PredictorLimitsOf(const ServiceSpec& spec) {
  return {.bytes = spec.has_predict_memory() ? spec.predict_memory() : ShareOfMemory(kPredictorsShare),
          .count = spec.predictors(),
          .delay = std::chrono::duration<double>(spec.batch_delay() / 1e3),
          .waiting = spec.predict_queue()};
}

absl::StatusOr<std::unique_ptr<grpc::Server>> Listen(const ServiceSpec& spec, Calls& calls, int& port) {
  ASSIGN_OR_RETURN(const std::shared_ptr<grpc::ServerCredentials> credentials, CredentialsOf(spec));
  gpr_set_log_function(LogOfGrpc);
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  grpc::ResourceQuota quota("partita");
  quota.SetMaxThreads(static_cast<int>(spec.calls()));
  builder.SetResourceQuota(quota);
  builder.SetMaxReceiveMessageSize(static_cast<int>(spec.message_bytes()));
  builder.SetMaxSendMessageSize(static_cast<int>(spec.message_bytes()));
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // a second server on the port is an error
  builder.AddListeningPort(spec.address(), credentials, &port);
  builder.RegisterService(&calls);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) {
    return ResourceExhausted("--address={}: cannot listen there; choose a free port, and an address of this machine",
                             spec.address());
  }
  return server;
}

}  // namespace

absl::Status CheckService(const ServiceSpec& spec) {
  if (!spec.has_state()) return FlagError("flag --state is missing; expected the folder for runs");
  if (spec.has_tls_certificate() != spec.has_tls_key()) {
    return FlagError("only one of --tls-certificate and --tls-key is given; expected both or none");
  }
  if (!spec.has_token() && !IsOfThisMachine(spec.address())) {
    return FlagError("flag --address is {}, which other machines reach, and there is no --token; expected a token",
                     Quoted(spec.address()));
  }
  const absl::Status interval = ParseInterval(spec.checkpoint_every()).status();
  return interval;
}

absl::Status Serve(const ServiceSpec& spec, const std::atomic<int>& stop, const std::function<void(Ports)>& on_start) {
  Calls::Parts parts;
  if (spec.has_token()) {
    ASSIGN_OR_RETURN(parts.token, AccessToken::Read(spec.token()));
  }
  parts.limits = LimitsOf(spec);
  parts.plan = {parts.limits.ranks(), parts.limits.memory_bytes()};
  ASSIGN_OR_RETURN(const RunFolder folder, RunFolder::Open(spec.state()));
  parts.files = {folder.scratch(), spec.checkpoint_every()};
  ServiceMetrics metrics;
  Ports ports;
  if (spec.has_metrics_address()) {
    ASSIGN_OR_RETURN(ports.metrics, metrics.Serve(spec.metrics_address()));
  }
  const RunLimits limits = {.bytes = parts.limits.memory_bytes(),
                            .running = spec.runs(),
                            .queued = spec.queue(),
                            .kept = spec.kept_runs(),
                            .checkpoint_every = spec.checkpoint_every()};
  ASSIGN_OR_RETURN(const std::unique_ptr<RunRegistry> runs, RunRegistry::Open(folder, limits, metrics));
  Predictors predictors(PredictorLimitsOf(spec), parts.files, metrics);
  Calls calls(std::move(parts), *runs, predictors, metrics);
  ASSIGN_OR_RETURN(const std::unique_ptr<grpc::Server> server, Listen(spec, calls, ports.calls));
  on_start(ports);
  while (stop.load() == 0) std::this_thread::sleep_for(kStopInterval);
  server->GetHealthCheckService()->SetServingStatus(false);
  runs->Stop();
  calls.Stop();
  server->Shutdown(std::chrono::system_clock::now() + kLastCalls);
  server->Wait();
  return absl::OkStatus();
}

}  // namespace partita::service
