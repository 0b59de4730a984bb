// What Prometheus reads of the service.
#ifndef PARTITA_TOOLS_SERVICE_SERVICE_METRICS_H_
#define PARTITA_TOOLS_SERVICE_SERVICE_METRICS_H_

#include <prometheus/counter.h>
#include <prometheus/exposer.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/service.pb.h"

namespace partita::service {

// Any thread may call it.
class ServiceMetrics {
 public:
  ServiceMetrics();

  // Serves /metrics, once. Returns the port. kUnavailable: the address is not to be had.
  absl::StatusOr<int> Serve(const std::string& address);

  void CountCall(const std::string& method, const absl::Status& status, double seconds);
  void SetRuns(const std::map<v1::RunState, int64_t>& counts, int64_t planned_bytes);
  void CountSteps(int64_t steps);
  void CountEpoch();
  void CountBatch(int64_t requests, int64_t samples);
  void SetPredictors(int64_t count, int64_t planned_bytes);

 private:
  const std::shared_ptr<prometheus::Registry> registry_ = std::make_shared<prometheus::Registry>();
  prometheus::Family<prometheus::Counter>& calls_;
  prometheus::Family<prometheus::Histogram>& call_seconds_;
  prometheus::Family<prometheus::Gauge>& runs_;
  prometheus::Family<prometheus::Gauge>& planned_bytes_;
  prometheus::Counter& steps_;
  prometheus::Counter& epochs_;
  prometheus::Histogram& batch_requests_;
  prometheus::Counter& samples_;
  prometheus::Gauge& predictors_;
  std::unique_ptr<prometheus::Exposer> exposer_;
};

}  // namespace partita::service

#endif  // PARTITA_TOOLS_SERVICE_SERVICE_METRICS_H_
