// A model at work for callers of the library: checks who calls and when, and turns statuses into errors.
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "graph/value/node_name.h"
#include "partita/convert.h"
#include "partita/partita.h"
#include "partita/session_parts.h"
#include "partita/spec_of.h"
#include "run/host/log.h"
#include "runtime/base/status.h"
#include "runtime/train/model_file.h"

namespace partita::api {
namespace {

// What `call` returns, or why it may not run: a session runs one call at a time, in the process that started it. The
// parts are a copy, which a callback that destroys the session leaves alive until its call has ended.
template <typename T, typename Parts, typename Call>
T InTurn(std::shared_ptr<Parts> parts, const Call& call) {  // NOLINT(performance-unnecessary-value-param)
  const auto misuse = [](const std::string& why) { return ErrorOf(absl::FailedPreconditionError(why)); };
  if (parts == nullptr) return misuse("the session was moved from; use the one that it was moved to");
  if (parts->process != getpid()) {
    return misuse(fmt::format("the session belongs to process {}, this is process {}; start one after fork()",
                              parts->process, getpid()));
  }
  if (parts->busy.exchange(true)) {
    return misuse("another thread is in a call of this session; a session runs one call at a time");
  }
  const auto end = [](Parts* ended) { ended->busy = false; };
  const std::unique_ptr<Parts, decltype(end)> running(parts.get(), end);
  if (parts->cancelled) return ErrorOf(Cancelled());
  return Guarded<T>(call);
}

template <typename T>
Result<T> ResultOf(absl::StatusOr<T> value) {
  if (!value.ok()) return ErrorOf(value.status());
  return *std::move(value);
}

}  // namespace

Session::Session(std::shared_ptr<Parts> parts) : parts_(std::move(parts)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&& other) noexcept {
  if (this != &other) {
    const Session gone(std::move(*this));
    parts_ = std::move(other.parts_);
  }
  return *this;
}
Session::~Session() {
  if (parts_ == nullptr) return;
  if (parts_->process == getpid()) {
    if (parts_->busy) Interrupt();  // the Fit whose callback this is
    return;
  }
  // In a child of the session's process there are no threads that it could end: the parts stay.
  [[maybe_unused]] const auto* const left = new std::shared_ptr<Parts>(std::move(parts_));
}

Result<Session> Session::Start(const Model& model, const Split& split, const Options& options) {
  return Guarded<Result<Session>>([&]() -> Result<Session> {
    auto parts = std::make_shared<Parts>(model.parts_);
    const absl::Status started =
        parts->Start(SpecOf(model.parts_->source, split, options), options.predict, options.train, options.transport);
    if (!started.ok()) return ErrorOf(started);
    return Session(std::move(parts));
  });
}

Result<Session> Session::Start(const Model& model, const Run& run) {
  return Guarded<Result<Session>>([&]() -> Result<Session> {
    auto parts = std::make_shared<Parts>(model.parts_);
    const absl::Status started = parts->Start(SpecOf(model.parts_->source, run), run.predict, run.train, run.transport);
    if (!started.ok()) return ErrorOf(started);
    return Session(std::move(parts));
  });
}

Result<StepResult> Session::Train(const Fields& batch) {
  return InTurn<Result<StepResult>>(parts_, [&] { return ResultOf(parts_->Step(kTrainEntry, batch)); });
}

Result<StepResult> Session::Evaluate(const Fields& batch) {
  return InTurn<Result<StepResult>>(parts_, [&] { return ResultOf(parts_->Step(kEvaluateEntry, batch)); });
}

Result<FitResult> Session::Fit(const FitOptions& options) {
  return InTurn<Result<FitResult>>(parts_, [&] { return ResultOf(parts_->Fit(options)); });
}

void Session::Interrupt() {
  if (parts_ != nullptr && parts_->process == getpid()) parts_->stop = 1;
}

Result<std::map<std::string, Tensor>> Session::Predict(const Fields& batch) {
  return InTurn<Result<std::map<std::string, Tensor>>>(parts_, [&] { return ResultOf(parts_->Predict(batch)); });
}

Result<std::map<std::string, Tensor>> Session::Compute(const std::string& entry, const Fields& batch) {
  return InTurn<Result<std::map<std::string, Tensor>>>(parts_, [&] { return ResultOf(parts_->Compute(entry, batch)); });
}

Outcome Session::Save(const std::string& path) const {
  const auto save = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(ModelRecord record, parts_->Record());
    return SaveModel(*parts_->session, parts_->model->model, std::move(record), /*weights_only=*/false, path);
  };
  return InTurn<Outcome>(parts_, [&] { return OutcomeOf(save()); });
}

Outcome Session::Load(const std::string& path) {
  return InTurn<Outcome>(parts_, [&] { return OutcomeOf(parts_->Load(path, /*weights_only=*/false)); });
}

Outcome Session::LoadWeights(const std::string& path) {
  return InTurn<Outcome>(parts_, [&] { return OutcomeOf(parts_->Load(path, /*weights_only=*/true)); });
}

std::optional<Preprocessing> Session::preprocessing() const {
  using Known = std::optional<Preprocessing>;
  const auto read = [&]() -> Result<Known> {
    const std::optional<partita::Preprocessing>& images = parts_->record.preprocessing;
    if (!images) return Known();
    return Known({images->images.height, images->images.width, images->images.channels, images->normalization.mean,
                  images->normalization.deviation, images->resize, images->class_names});
  };
  const Result<Known> known = InTurn<Result<Known>>(parts_, read);
  return known ? *known : Known();
}

std::vector<std::string> Session::states() const {
  using Names = std::vector<std::string>;
  Result<Names> names = InTurn<Result<Names>>(parts_, [&]() -> Result<Names> { return parts_->session->StateNames(); });
  return names ? *std::move(names) : Names();
}

Result<Tensor> Session::Read(const std::string& state) const {
  const auto read = [&]() -> absl::StatusOr<Tensor> {
    ASSIGN_OR_RETURN(const HostTensor whole, parts_->session->ReadState(state));
    return TensorOf(whole);
  };
  return InTurn<Result<Tensor>>(parts_, [&] { return ResultOf(read()); });
}

Outcome Session::Write(const std::string& state, const View& value) {
  const auto write = [&]() -> absl::Status {
    if (value.data == nullptr) return InvalidArgument("state {}: given is no data", Quoted(state));
    return parts_->session->WriteState(state, ConstTensorOf(value));
  };
  return InTurn<Outcome>(parts_, [&] { return OutcomeOf(write()); });
}

void Session::Cancel() {
  if (parts_ == nullptr || parts_->process != getpid()) return;
  parts_->cancelled = true;
  parts_->session->Abort(Cancelled());
}

void SetLog(std::function<void(Level level, const std::string& line)> log) {
  if (!log) return SetLogSink(nullptr);
  SetLogSink([log = std::move(log)](LogLevel level, const std::string& line) {
    log(level == LogLevel::kWarning ? Level::kWarning : level == LogLevel::kInfo ? Level::kInfo : Level::kDetail, line);
  });
}

}  // namespace partita::api
