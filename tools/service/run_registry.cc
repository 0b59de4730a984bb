#include "tools/service/run_registry.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "graph/value/node_name.h"
#include "run/host/log.h"
#include "runtime/base/exhaustion.h"
#include "runtime/base/number.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/sharded/checkpoint_folder.h"
#include "runtime/checkpoint/sharded/disk.h"

namespace partita::service {
namespace {

using Clock = std::chrono::system_clock;

// Between two writes of a record whose state does not change: epochs may be short.
constexpr std::chrono::seconds kRecordInterval(5);

double Now() { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }

// A run that has checkpoints resumes from the newest one.
absl::StatusOr<RunSpec> Resuming(RunSpec spec) {
  CheckpointSpec& checkpoints = *spec.mutable_checkpoints();
  ASSIGN_OR_RETURN(const std::vector<int64_t> steps, CheckpointSteps(SystemDisk(), checkpoints.checkpoint()));
  if (steps.empty()) return spec;
  checkpoints.set_resume("auto");
  spec.mutable_model()->clear_load();
  spec.mutable_model()->clear_load_weights_only();
  spec.mutable_model()->clear_map();
  spec.mutable_model()->clear_load_partial();
  return spec;
}

void Set(const std::map<std::string, double>& values, google::protobuf::Map<std::string, double>& to) {
  to.clear();
  to.insert(values.begin(), values.end());
}

v1::RunProgress ProgressOf(const api::Progress& progress) {
  v1::RunProgress to;
  to.set_step(progress.step);
  to.set_steps(progress.steps);
  to.set_epoch(progress.epoch);
  to.set_loss(progress.loss);
  to.set_learning_rate(progress.learning_rate);
  to.set_samples_per_second(progress.samples_per_second);
  Set(progress.metrics, *to.mutable_metrics());
  if (progress.gradient_norm) to.set_gradient_norm(*progress.gradient_norm);
  return to;
}

v1::RunEpoch EpochOf(const api::Epoch& epoch) {
  v1::RunEpoch to;
  to.set_number(epoch.number);
  to.set_loss(epoch.loss);
  Set(epoch.metrics, *to.mutable_metrics());
  if (epoch.test_loss) to.set_test_loss(*epoch.test_loss);
  Set(epoch.test_metrics, *to.mutable_test_metrics());
  to.set_seconds(epoch.seconds);
  return to;
}

}  // namespace

absl::StatusOr<std::unique_ptr<RunRegistry>> RunRegistry::Open(const RunFolder& folder, const RunLimits& limits,
                                                               ServiceMetrics& metrics) {
  std::unique_ptr<RunRegistry> registry(new RunRegistry(folder, limits, metrics));
  ASSIGN_OR_RETURN(std::vector<RunRecord> records, folder.Read());
  for (RunRecord& record : records) {
    const std::string id = record.status().id();
    Run& run = registry->runs_[id];
    run.record = std::move(record);
    registry->last_number_ =
        std::max(registry->last_number_, NumberOf<int64_t>(id.substr(id.find('-') + 1)).value_or(0));
    if (HasEnded(run.record.status().state())) continue;
    registry->Enter(run, v1::INTERRUPTED, "the service ended while the run was queued or running; Resume continues it");
  }
  for (int64_t worker = 0; worker < limits.running; ++worker) {
    registry->workers_.emplace_back([raw = registry.get()] { raw->Work(); });
  }
  return registry;
}

RunRegistry::~RunRegistry() { Stop(); }

// The caller holds the mutex, here and below.
absl::Status RunRegistry::CheckKnown(const std::string& id) const {
  if (runs_.contains(id)) return absl::OkStatus();
  return absl::NotFoundError(fmt::format("there is no run {}; Status lists all", Quoted(id)));
}

absl::Status RunRegistry::CheckRoom() const {
  if (stops_) return absl::UnavailableError("the service is stopping");
  const auto open =
      std::ranges::count_if(runs_, [](const auto& run) { return !HasEnded(run.second.record.status().state()); });
  if (open < limits_.queued + limits_.running) return absl::OkStatus();
  return ResourceExhausted("{} wait and run already; the service lets {} wait (--queue); submit again later",
                           Counted(limits_.queued + limits_.running, "run"), limits_.queued);
}

void RunRegistry::MarkChanged(Run& run) {
  ++run.version;
  changed_.notify_all();
}

void RunRegistry::Enter(Run& run, v1::RunState state, const std::string& message) {
  v1::RunStatus& status = *run.record.mutable_status();
  status.set_state(state);
  status.set_message(message);
  if (state == v1::RUNNING) status.set_started_unix_seconds(Now());
  status.set_ended_unix_seconds(HasEnded(state) ? Now() : 0);
  Keep(run);
  Tell("run {} is {}{}", status.id(), v1::RunState_Name(state), message.empty() ? "" : ": " + message);
  CountStates();
  MarkChanged(run);
}

void RunRegistry::Keep(const Run& run) const {
  const absl::Status written = folder_.Write(run.record);
  if (!written.ok()) Warn("{}", std::string(written.message()));
}

void RunRegistry::CountStates() const {
  std::map<v1::RunState, int64_t> counts;
  for (const auto& [id, run] : runs_) ++counts[run.record.status().state()];
  metrics_.SetRuns(counts, used_bytes_);
}

void RunRegistry::Enqueue(Run& run) {
  run.cancelled = false;
  queue_.push_back(run.record.status().id());
  Enter(run, v1::QUEUED);
}

void RunRegistry::FindModelFile(Run& run) {
  std::error_code error;
  if (std::filesystem::exists(run.model_file, error)) run.record.mutable_status()->set_model_file(run.model_file);
}

absl::StatusOr<v1::RunStatus> RunRegistry::Submit(const v1::RunRequest& request, GivenModel model,
                                                  const PlannedRun& planned) {
  const std::lock_guard lock(mutex_);
  RETURN_IF_ERROR(CheckRoom());
  if (static_cast<int64_t>(runs_.size()) >= limits_.kept) {
    return ResourceExhausted("{} are kept already (--kept-runs); remove folders of ended runs and restart the service",
                             Counted(limits_.kept, "run"));
  }
  const std::string id = fmt::format("run-{:06}", ++last_number_);
  const std::string folder = folder_.Of(id);
  std::error_code error;
  std::filesystem::create_directory(folder, error);
  if (error) return ResourceExhausted("{}: cannot be created: {}", folder, error.message());
  if (model.is_text()) RETURN_IF_ERROR(model.KeepAs(folder + "/model.pbtxt"));
  Run run;
  *run.record.mutable_request() = request;
  run.record.mutable_request()->mutable_model()->set_path(model.path());
  v1::RunStatus& status = *run.record.mutable_status();
  status.set_id(id);
  status.set_state(v1::QUEUED);
  status.set_ranks(planned.ranks);
  status.set_planned_bytes(planned.bytes);
  status.set_submitted_unix_seconds(Now());
  RETURN_IF_ERROR(folder_.Write(run.record));
  Run& kept = runs_[id] = std::move(run);
  Enqueue(kept);
  return kept.record.status();
}

absl::StatusOr<v1::RunStatus> RunRegistry::Resume(const std::string& id) {
  const std::lock_guard lock(mutex_);
  RETURN_IF_ERROR(CheckKnown(id));
  Run& run = runs_.at(id);
  const v1::RunState state = run.record.status().state();
  if (!HasEnded(state)) return absl::FailedPreconditionError(fmt::format("run {} has not ended", id));
  if (state == v1::FINISHED) return absl::FailedPreconditionError(fmt::format("run {} was trained to its end", id));
  RETURN_IF_ERROR(CheckRoom());
  run.resumed = true;
  Enqueue(run);
  return run.record.status();
}

absl::StatusOr<v1::RunStatus> RunRegistry::Cancel(const std::string& id) {
  const std::lock_guard lock(mutex_);
  RETURN_IF_ERROR(CheckKnown(id));
  Run& run = runs_.at(id);
  if (HasEnded(run.record.status().state())) return run.record.status();
  run.cancelled = true;
  if (run.training != nullptr) {
    run.training->Stop();
  } else {
    std::erase(queue_, id);
    Enter(run, v1::CANCELLED);
  }
  return run.record.status();
}

absl::StatusOr<v1::RunStatus> RunRegistry::Save(const std::string& id, Clock::time_point until) {
  std::shared_ptr<Training> training;
  {
    const std::lock_guard lock(mutex_);
    RETURN_IF_ERROR(CheckKnown(id));
    training = runs_.at(id).training;
  }
  if (training != nullptr) {
    const absl::Status saved = training->Save(until);
    // It may have ended, and been saved, meanwhile.
    if (!saved.ok() && !absl::IsFailedPrecondition(saved)) return saved;
  }
  const std::lock_guard lock(mutex_);
  Run& run = runs_.at(id);
  FindModelFile(run);
  const v1::RunStatus& status = run.record.status();
  if (!status.model_file().empty()) return status;
  return absl::FailedPreconditionError(
      fmt::format("run {} is {} and has no saved model yet", id, v1::RunState_Name(status.state())));
}

absl::StatusOr<v1::RunStatus> RunRegistry::StatusOf(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  RETURN_IF_ERROR(CheckKnown(id));
  return runs_.at(id).record.status();
}

absl::StatusOr<v1::RunRequest> RunRegistry::RequestOf(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  RETURN_IF_ERROR(CheckKnown(id));
  return runs_.at(id).record.request();
}

std::vector<v1::RunStatus> RunRegistry::All() const {
  const std::lock_guard lock(mutex_);
  std::vector<v1::RunStatus> all;
  for (const auto& [id, run] : runs_) all.push_back(run.record.status());
  return all;
}

int64_t RunRegistry::used_bytes() const {
  const std::lock_guard lock(mutex_);
  return used_bytes_;
}

int64_t RunRegistry::queued() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int64_t>(queue_.size());
}

absl::StatusOr<RunRegistry::Watched> RunRegistry::WaitForChange(const std::string& id, int64_t seen,
                                                                Clock::time_point until) const {
  std::unique_lock lock(mutex_);
  RETURN_IF_ERROR(CheckKnown(id));
  const Run& run = runs_.at(id);
  changed_.wait_until(lock, until, [&] { return run.version > seen; });
  return Watched{run.record.status(), run.version};
}

// The first one that waits, once its memory is free.
RunRegistry::Run* RunRegistry::NextToRun() {
  if (queue_.empty()) return nullptr;
  Run& run = runs_.at(queue_.front());
  if (used_bytes_ > 0 && used_bytes_ + run.record.status().planned_bytes() > limits_.bytes) return nullptr;
  return &run;
}

void RunRegistry::Work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stops_ || NextToRun() != nullptr; });
    if (stops_) return;
    Run& run = *NextToRun();
    queue_.pop_front();
    Train(run, lock);
  }
}

void RunRegistry::Train(Run& run, std::unique_lock<std::mutex>& lock) {
  const int64_t bytes = run.record.status().planned_bytes();
  used_bytes_ += bytes;
  run.training = std::make_shared<Training>();
  Enter(run, v1::RUNNING);
  lock.unlock();
  const absl::StatusOr<bool> finished = OrExhausted("the run", [&] { return TrainAsked(run); });
  lock.lock();
  run.training = nullptr;
  used_bytes_ -= bytes;
  FindModelFile(run);
  if (!finished.ok()) {
    Enter(run, v1::FAILED, std::string(finished.status().message()));
  } else if (*finished) {
    Enter(run, v1::FINISHED);
  } else if (stops_ && !run.cancelled) {
    Enter(run, v1::INTERRUPTED, "the service was stopped; Resume continues the run");
  } else {
    Enter(run, v1::CANCELLED, run.cancelled ? "" : "its deadline has passed; Resume continues the run");
  }
}

// In the worker, without the mutex: the request of a run does not change.
absl::StatusOr<bool> RunRegistry::TrainAsked(Run& run) {
  const v1::RunRequest& request = run.record.request();
  const std::string folder = folder_.Of(run.record.status().id());
  ASSIGN_OR_RETURN(const GivenModel model, GivenModel::Of(request.model(), folder));
  ASSIGN_OR_RETURN(RunSpec spec, SpecOf(request, model, {folder, limits_.checkpoint_every}));
  if (run.resumed) {
    ASSIGN_OR_RETURN(spec, Resuming(std::move(spec)));
  }
  spec.mutable_model()->clear_loss();  // the model has it
  ASSIGN_OR_RETURN(const std::string settings, SettingsOf(spec));
  ASSIGN_OR_RETURN(const api::Model read, model.Read());
  std::shared_ptr<Training> training;
  {
    const std::lock_guard lock(mutex_);
    run.model_file = spec.saving().save();
    run.record.mutable_status()->set_checkpoints(spec.checkpoints().checkpoint());
    training = run.training;
  }
  Training::Reports reports;
  reports.on_progress = [&](const api::Progress& progress) {
    const std::lock_guard lock(mutex_);
    v1::RunProgress& last = *run.record.mutable_status()->mutable_progress();
    metrics_.CountSteps(std::max<int64_t>(progress.step - last.step(), 0));
    last = ProgressOf(progress);
    MarkChanged(run);
  };
  reports.on_epoch = [&, written = Clock::now()](const api::Epoch& epoch) mutable {
    const std::lock_guard lock(mutex_);
    *run.record.mutable_status()->mutable_last_epoch() = EpochOf(epoch);
    metrics_.CountEpoch();
    MarkChanged(run);
    if (Clock::now() - written < kRecordInterval) return;
    written = Clock::now();
    Keep(run);
  };
  reports.on_end = [&](int64_t step) {
    const std::lock_guard lock(mutex_);
    v1::RunProgress& last = *run.record.mutable_status()->mutable_progress();
    metrics_.CountSteps(std::max<int64_t>(step - last.step(), 0));
    last.set_step(step);
    last.set_steps(std::max(step, last.steps()));
  };
  return training->Run(read, settings, request.deadline_seconds(), reports);
}

void RunRegistry::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
    for (const std::string& id : std::exchange(queue_, {})) {
      Enter(runs_.at(id), v1::INTERRUPTED, "the service was stopped before the run began; Resume queues it again");
    }
    for (auto& [id, run] : runs_) {
      if (run.training != nullptr) run.training->Stop();
    }
    changed_.notify_all();
  }
  for (std::thread& worker : std::exchange(workers_, {})) worker.join();
}

}  // namespace partita::service
