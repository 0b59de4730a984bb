// Saved models that are ready for predictions, each with one session.
#ifndef PARTITA_TOOLS_SERVICE_PREDICTORS_H_
#define PARTITA_TOOLS_SERVICE_PREDICTORS_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/service.pb.h"
#include "tools/service/predict_batcher.h"
#include "tools/service/requests/asked_run.h"
#include "tools/service/service_metrics.h"

namespace partita::service {

struct PredictorLimits {
  int64_t bytes = 0;  // planned, of all together
  int64_t count = 8;
  std::chrono::duration<double> delay{0};
  int64_t waiting = 256;  // requests for one model
};

// What is predicted, and from which files.
struct PredictedModel {
  v1::ModelSource source;
  std::string weights;   // empty: those of an exported program
  std::string settings;  // of the session: lines `name = value`
  std::vector<std::string> values;
};

// Any thread may call it.
class Predictors {
 public:
  // `files`: as Calls::Parts has it. `metrics` must outlive it.
  Predictors(const PredictorLimits& limits, RunFiles files, ServiceMetrics& metrics)
      : limits_(limits), files_(std::move(files)), metrics_(metrics) {}

  // Starts the model's session first if it is not ready, or if one of its files has changed. Where there is no memory
  // for it by its plan, those that are unused longest are ended. kResourceExhausted: it does not fit alone.
  absl::StatusOr<Values> Predict(const PredictedModel& model, const api::Fields& fields,
                                 std::chrono::system_clock::time_point until);

 private:
  struct Predictor {
    std::unique_ptr<PredictBatcher> batcher;
    int64_t bytes = 0;
    int64_t used = 0;  // when, in calls
  };

  std::shared_ptr<Predictor> Find(const std::string& key);
  absl::StatusOr<std::shared_ptr<Predictor>> Start(const PredictedModel& model, const std::string& key);
  absl::Status MakeRoom(int64_t bytes);
  int64_t UsedBytes() const;

  const PredictorLimits limits_;
  const RunFiles files_;
  ServiceMetrics& metrics_;
  std::mutex starting_;  // one model at a time; taken before the other
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Predictor>> ready_;
  int64_t calls_ = 0;
};

}  // namespace partita::service

#endif  // PARTITA_TOOLS_SERVICE_PREDICTORS_H_
