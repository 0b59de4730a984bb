// One training of the library, which other threads can end or have saved meanwhile.
#ifndef PARTITA_TOOLS_SERVICE_TRAINING_H_
#define PARTITA_TOOLS_SERVICE_TRAINING_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "partita/partita.h"

namespace partita::service {

class Training {
 public:
  // In the thread of Run, between two steps.
  struct Reports {
    std::function<void(const api::Progress&)> on_progress;
    std::function<void(const api::Epoch&)> on_epoch;
    std::function<void(int64_t step)> on_end;  // or pause
  };

  // Starts a session and trains to the end of the run. False: Stop or the deadline ended it before; the model and the
  // checkpoint of the settings are written in both cases. Once.
  absl::StatusOr<bool> Run(const api::Model& model, const std::string& settings, double deadline_seconds,
                           const Reports& reports);

  // Any thread, at any time: ends the training after the steps in flight.
  void Stop();

  // Any thread: pauses the training after the steps in flight, until the model is written. Training continues bitwise
  // as without it. kFailedPrecondition: it ended before. kDeadlineExceeded: the model is written after `until`.
  absl::Status Save(std::chrono::system_clock::time_point until);

 private:
  absl::StatusOr<bool> Fit(api::Session& session, double deadline_seconds, const Reports& reports);
  bool IsStopping();
  bool IsAsked();

  std::mutex mutex_;
  std::condition_variable saved_or_ended_;
  api::Session* session_ = nullptr;  // while it trains
  bool stops_ = false, ended_ = false;
  int64_t saves_asked_ = 0, saves_done_ = 0;
};

}  // namespace partita::service

#endif  // PARTITA_TOOLS_SERVICE_TRAINING_H_
