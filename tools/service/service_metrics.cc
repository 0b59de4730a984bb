#include "tools/service/service_metrics.h"

#include <exception>

#include "runtime/base/status.h"

namespace partita::service {
namespace {

template <typename Builder>
auto& Make(Builder builder, const char* name, const char* help, prometheus::Registry& registry) {
  return builder.Name(name).Help(help).Register(registry);
}

prometheus::Histogram::BucketBoundaries SecondsOfCalls() { return {0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30}; }

prometheus::Histogram::BucketBoundaries RequestsOfBatches() { return {1, 2, 4, 8, 16, 32, 64, 128, 256}; }

}  // namespace

ServiceMetrics::ServiceMetrics()
    : calls_(Make(prometheus::BuildCounter(), "partita_calls_total", "Calls that have ended, by method and code",
                  *registry_)),
      call_seconds_(
          Make(prometheus::BuildHistogram(), "partita_call_seconds", "Duration of calls, by method", *registry_)),
      runs_(Make(prometheus::BuildGauge(), "partita_runs", "Runs by state", *registry_)),
      planned_bytes_(
          Make(prometheus::BuildGauge(), "partita_planned_bytes", "Planned memory in use, by use", *registry_)),
      steps_(
          Make(prometheus::BuildCounter(), "partita_training_steps_total", "Steps that runs have reported", *registry_)
              .Add({})),
      epochs_(Make(prometheus::BuildCounter(), "partita_training_epochs_total", "Epochs that have ended", *registry_)
                  .Add({})),
      batch_requests_(Make(prometheus::BuildHistogram(), "partita_predict_batch_requests",
                           "Requests that were computed together", *registry_)
                          .Add({}, RequestsOfBatches())),
      samples_(
          Make(prometheus::BuildCounter(), "partita_predict_samples_total", "Samples predicted", *registry_).Add({})),
      predictors_(
          Make(prometheus::BuildGauge(), "partita_predictors", "Models ready for predictions", *registry_).Add({})) {}

absl::StatusOr<int> ServiceMetrics::Serve(const std::string& address) {
  constexpr size_t kThreads = 2;
  try {
    exposer_ = std::make_unique<prometheus::Exposer>(address, kThreads);
    exposer_->RegisterCollectable(registry_);
    return exposer_->GetListeningPorts().at(0);
  } catch (const std::exception& error) {
    return ResourceExhausted("--metrics-address={}: cannot listen there: {}", address, error.what());
  }
}

void ServiceMetrics::CountCall(const std::string& method, const absl::Status& status, double seconds) {
  calls_.Add({{"method", method}, {"code", absl::StatusCodeToString(status.code())}}).Increment();
  call_seconds_.Add({{"method", method}}, SecondsOfCalls()).Observe(seconds);
}

void ServiceMetrics::SetRuns(const std::map<v1::RunState, int64_t>& counts, int64_t planned_bytes) {
  for (const v1::RunState state : {v1::QUEUED, v1::RUNNING, v1::FINISHED, v1::CANCELLED, v1::INTERRUPTED, v1::FAILED}) {
    const auto found = counts.find(state);
    const auto count = static_cast<double>(found == counts.end() ? 0 : found->second);
    runs_.Add({{"state", v1::RunState_Name(state)}}).Set(count);
  }
  planned_bytes_.Add({{"use", "runs"}}).Set(static_cast<double>(planned_bytes));
}

void ServiceMetrics::CountSteps(int64_t steps) { steps_.Increment(static_cast<double>(steps)); }

void ServiceMetrics::CountEpoch() { epochs_.Increment(); }

void ServiceMetrics::CountBatch(int64_t requests, int64_t samples) {
  batch_requests_.Observe(static_cast<double>(requests));
  samples_.Increment(static_cast<double>(samples));
}

void ServiceMetrics::SetPredictors(int64_t count, int64_t planned_bytes) {
  predictors_.Set(static_cast<double>(count));
  planned_bytes_.Add({{"use", "predictors"}}).Set(static_cast<double>(planned_bytes));
}

}  // namespace partita::service
