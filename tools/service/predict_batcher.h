// Collects the predictions that many clients ask of one session, computes them together, and splits the results again.
#ifndef PARTITA_TOOLS_SERVICE_PREDICT_BATCHER_H_
#define PARTITA_TOOLS_SERVICE_PREDICT_BATCHER_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "partita/partita.h"

namespace partita::service {

using Values = std::map<std::string, api::Tensor>;

struct BatchLimits {
  int64_t samples = 1;                     // of a batch of the session
  std::chrono::duration<double> delay{0};  // that a request waits for others
  int64_t waiting = 1;                     // requests
};

class PredictBatcher {
 public:
  using OnBatch = std::function<void(int64_t requests, int64_t samples)>;
  PredictBatcher(api::Session session, const BatchLimits& limits, OnBatch on_batch);
  PredictBatcher(const PredictBatcher&) = delete;
  PredictBatcher& operator=(const PredictBatcher&) = delete;
  ~PredictBatcher();  // no call is running

  // Any thread; blocks. Requests whose fields have the same names, types and rows share batches; an error is that of
  // the request alone. kResourceExhausted: too many wait. kDeadlineExceeded: `until` came before its batch began.
  absl::StatusOr<Values> Predict(const api::Fields& fields, std::chrono::system_clock::time_point until);

 private:
  struct Request {
    const api::Fields* fields;
    int64_t samples;  // 0: its fields do not agree, so it is computed alone
    std::chrono::steady_clock::time_point arrival;
    bool begun = false;
    std::optional<absl::StatusOr<Values>> result = {};
  };
  using Batch = std::vector<Request*>;

  int64_t Matching() const;
  Batch NextBatch();
  void Work();
  void Compute(const Batch& batch);
  absl::StatusOr<Values> ComputeAlone(const Request& request);
  bool ComputeTogether(const Batch& batch);

  api::Session session_;
  const BatchLimits limits_;
  const OnBatch on_batch_;
  std::mutex mutex_;
  std::condition_variable arrived_, done_;
  std::deque<Request*> queue_;
  bool stops_ = false;
  std::thread worker_;
};

}  // namespace partita::service

#endif  // PARTITA_TOOLS_SERVICE_PREDICT_BATCHER_H_
