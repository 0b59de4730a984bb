#include "tools/service/training.h"

#include <utility>

#include "tools/service/requests/status_of.h"

namespace partita::service {
namespace {

// Between two reports; how late a request is seen that came before the first step.
constexpr double kReportSeconds = 0.5;

}  // namespace

absl::StatusOr<bool> Training::Run(const api::Model& model, const std::string& settings, double deadline_seconds,
                                   const Reports& reports) {
  absl::StatusOr<bool> finished = [&]() -> absl::StatusOr<bool> {
    absl::StatusOr<api::Session> session = ValueOf(api::Session::Start(model, api::Run{.settings = settings}));
    if (!session.ok()) return session.status();
    {
      const std::lock_guard lock(mutex_);
      session_ = &*session;
    }
    absl::StatusOr<bool> fitted = Fit(*session, deadline_seconds, reports);
    const std::lock_guard lock(mutex_);
    session_ = nullptr;
    return fitted;
  }();
  const std::lock_guard lock(mutex_);
  ended_ = true;
  saved_or_ended_.notify_all();
  return finished;
}

// A call that was stopped has written the files that the settings name, and the next one continues it.
absl::StatusOr<bool> Training::Fit(api::Session& session, double deadline_seconds, const Reports& reports) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  api::FitOptions options;
  options.on_epoch = reports.on_epoch;
  options.progress_seconds = kReportSeconds;
  options.on_progress = [&](const api::Progress& progress) {
    reports.on_progress(progress);
    return !IsAsked();
  };
  while (!IsStopping()) {
    const double passed = std::chrono::duration<double>(Clock::now() - begin).count();
    if (deadline_seconds > 0 && passed >= deadline_seconds) return false;
    if (deadline_seconds > 0) options.deadline_seconds = deadline_seconds - passed;
    const api::Result<api::FitResult> fitted = session.Fit(options);
    if (!fitted) return StatusOf(fitted.error());
    reports.on_end(fitted->step);
    const std::lock_guard lock(mutex_);
    saves_done_ = saves_asked_;
    saved_or_ended_.notify_all();
    if (!fitted->stopped) return true;
  }
  return false;
}

bool Training::IsStopping() {
  const std::lock_guard lock(mutex_);
  return stops_;
}

bool Training::IsAsked() {
  const std::lock_guard lock(mutex_);
  return stops_ || saves_asked_ > saves_done_;
}

void Training::Stop() {
  const std::lock_guard lock(mutex_);
  stops_ = true;
  if (session_ != nullptr) session_->Interrupt();
}

absl::Status Training::Save(std::chrono::system_clock::time_point until) {
  std::unique_lock lock(mutex_);
  const int64_t asked = ++saves_asked_;
  if (session_ != nullptr) session_->Interrupt();
  saved_or_ended_.wait_until(lock, until, [&] { return ended_ || saves_done_ >= asked; });
  if (saves_done_ >= asked) return absl::OkStatus();
  if (!ended_) return absl::DeadlineExceededError("the deadline passed before the model was written");
  return absl::FailedPreconditionError("the run ended before its model was written");
}

}  // namespace partita::service
