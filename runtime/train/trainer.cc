#include "runtime/train/trainer.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <utility>

#include "graph/ir/generated_name.h"
#include "ops/values/learning_rate.h"
#include "runtime/base/check.h"
#include "runtime/base/status.h"
#include "runtime/fail_points/fail_point.h"
#include "runtime/train/batch_feed.h"
#include "runtime/train/evaluator.h"
#include "runtime/train/run_in_turn.h"
#include "runtime/train/stop_vote.h"

namespace partita {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// What progress and reports tell: means over the steps since the last one. Seconds are those since the clock started.
class Meter {
 public:
  Meter(const Session& session, int64_t rows, const std::function<void(const Progress&)>& tell)
      : tell_(tell), rows_(rows) {
    for (int rank = 0; rank < session.ranks(); ++rank) {
      memory_ = std::max(memory_, session.PlannedMemory(rank).total);
    }
  }

  // Leaves out the time since the last step, as that of an evaluation.
  void StartClock() { start_ = Clock::now(); }

  void Clear() {
    seconds_ = loss_ = norm_ = 0;
    metrics_.clear();
    steps_ = 0;
  }

  void Count(int64_t step, double epochs, double learning_rate, const StepResult& result) {
    const Clock::time_point now = Clock::now();
    seconds_ += std::chrono::duration<double>(now - start_).count();
    start_ = now;
    loss_ += result.loss;
    AddShare(result.metrics, 1, metrics_);
    has_norm_ = result.gradient_norm.has_value();
    norm_ += result.gradient_norm.value_or(0);
    ++steps_;
    step_ = step;
    epochs_ = epochs;
    learning_rate_ = learning_rate;
  }

  double seconds() const { return seconds_; }

  // Nothing, if no step was counted.
  void Tell() {
    if (steps_ == 0) return;
    const double steps = static_cast<double>(steps_);
    for (auto& [name, value] : metrics_) value /= steps;
    tell_({step_, epochs_, loss_ / steps, learning_rate_, steps * static_cast<double>(rows_) / seconds_,
           seconds_ / steps * 1e3, memory_, 0, metrics_, has_norm_ ? std::optional(norm_ / steps) : std::nullopt});
    Clear();
  }

 private:
  const std::function<void(const Progress&)>& tell_;
  const int64_t rows_;
  int64_t memory_ = 0;
  Clock::time_point start_ = Clock::now();
  double seconds_ = 0;
  double loss_ = 0;
  Metrics metrics_;
  bool has_norm_ = false;
  double norm_ = 0;
  int64_t steps_ = 0;
  int64_t step_ = 0;  // of the last one
  double epochs_ = 0;
  double learning_rate_ = 0;
};

class Run {
 public:
  Run(Session& session, const TrainingData& data, const TrainingOptions& options, BatchFeed feed, StopVote vote,
      TrainingResult& result)
      : session_(session),
        data_(data),
        options_(options),
        result_(result),
        feed_(std::move(feed)),
        vote_(std::move(vote)),
        progress_(session, data.training->batch_rows(), options.on_progress),
        report_(session, data.training->batch_rows(), options.on_report),
        schedule_(ScheduleOf(session.program().learning_rate)),
        per_epoch_(data.training->batches_per_epoch()),
        steps_(PlannedSteps(options, per_epoch_)),
        sums_(options.first_epoch) {}

  absl::Status AllEpochs() {
    if (options_.first_step > 0) session_.NumberStepsFrom(options_.first_step);
    RETURN_IF_ERROR(PrefetchOn());
    RETURN_IF_ERROR(Vote());
    RETURN_IF_ERROR(SetPause());
    const absl::Status status = EachEpoch();
    if (options_.progress_to_the_end) progress_.Tell();
    report_.Tell();
    result_.open_epoch = sums_;
    return status;
  }

 private:
  // Batches from here on.
  absl::Status PrefetchOn() {
    if (batches_ != nullptr) {
      waited_before_ += batches_->waited_seconds();
      made_before_ += batches_->making_seconds();
    }
    batches_ = nullptr;
    ASSIGN_OR_RETURN(batches_, feed_.Prefetch(Done(), std::max(int64_t{0}, Left())));
    return absl::OkStatus();
  }

  absl::Status EachEpoch() {
    while ((Left() > 0 || AtEpochsEnd()) && !Ended()) {
      EpochResult epoch;
      epoch.epoch = static_cast<int>((Done() - sums_.steps) / per_epoch_) + 1;
      const int64_t first = (epoch.epoch - 1) * per_epoch_;
      const absl::Status trained = OneEpoch(epoch);
      epoch.done = Done() - first;
      epoch.of = per_epoch_;
      result_.seconds += epoch.seconds;
      result_.data_wait_seconds = waited_before_ + batches_->waited_seconds();
      result_.data_making_seconds = made_before_ + batches_->making_seconds();
      result_.samples += epoch.samples;
      const bool enough_within = result_.enough;
      const bool evaluate = trained.ok() && !Ended() && data_.test != nullptr;
      const absl::Status evaluated = evaluate ? Evaluate(epoch) : trained;
      result_.epochs.push_back(epoch);
      RETURN_IF_ERROR(evaluated);
      options_.on_epoch(epoch);
      if (Stopped()) break;
      if (!enough_within) sums_ = {};
      RETURN_IF_ERROR(options_.pauses.on_evaluation(Done(), epoch));
      if (!enough_within) RETURN_IF_ERROR(PauseIfDue());
    }
    return absl::OkStatus();
  }

  bool Stopped() const { return result_.stopped_by != 0; }
  bool Ended() const { return Stopped() || result_.enough; }
  int64_t Done() const { return options_.first_step + result_.steps; }
  int64_t Left() const { return steps_ - Done(); }
  // All steps of an epoch are done, and its evaluation is not.
  bool AtEpochsEnd() const { return sums_.steps > 0 && (Done() % per_epoch_ == 0 || Left() <= 0); }
  int64_t LeftOfEpoch() const { return AtEpochsEnd() ? 0 : std::min(per_epoch_ - Done() % per_epoch_, Left()); }

  // Outside of steps.
  absl::Status Vote() {
    ASSIGN_OR_RETURN(result_.stopped_by, VoteToStop(session_, options_.stop));
    return absl::OkStatus();
  }

  absl::Status OneEpoch(EpochResult& epoch) {
    session_.ResetCounters();
    epoch_steps_.clear();
    StartClocks();
    const absl::Status status = AllSteps(epoch);
    epoch.samples = epoch.steps * data_.training->batch_rows();
    if (sums_.steps > 0) {
      epoch.loss = sums_.loss / static_cast<double>(sums_.steps);
      epoch.metrics = sums_.metrics;
      for (auto& [name, value] : epoch.metrics) value /= static_cast<double>(sums_.steps);
    }
    RETURN_IF_ERROR(status);
    return CountTraffic();
  }

  // Both go on from epoch to epoch; what lies between two epochs takes no time of theirs.
  void StartClocks() {
    progress_.StartClock();
    report_.StartClock();
  }

  // To the epoch's end, with the evaluations and pauses before it; a pause that is due there comes after the epoch's
  // evaluation. The run before may have been stopped between a step and the evaluation behind it.
  absl::Status AllSteps(EpochResult& epoch) {
    int64_t left = LeftOfEpoch();
    if (left > 0 && sums_.steps > 0) RETURN_IF_ERROR(EvaluateIfDue(epoch));
    while (left > 0 && !Ended()) {
      const int64_t count = std::min({left, StepsTo(pause_), StepsTo(NextEvaluation())});
      const Clock::time_point start = Clock::now();
      const int64_t before = Done();
      absl::Status status = SomeSteps(count, epoch);
      if (absl::IsOutOfRange(status) && result_.skipped_steps < options_.skip_budget) status = SkipStep(status);
      epoch.seconds += SecondsSince(start);
      RETURN_IF_ERROR(status);
      left -= Done() - before;
      if (left > 0 && !Stopped()) RETURN_IF_ERROR(EvaluateIfDue(epoch));
      if (left > 0 && !Ended()) RETURN_IF_ERROR(PauseIfDue());
    }
    return absl::OkStatus();
  }

  // All that there are, where `step` is not ahead.
  int64_t StepsTo(int64_t step) const { return step > Done() ? step - Done() : std::numeric_limits<int64_t>::max(); }

  // 0: none.
  int64_t NextEvaluation() const {
    const int64_t every = data_.test != nullptr ? options_.evaluate_every : 0;
    return every > 0 ? (Done() / every + 1) * every : 0;
  }

  // Of an epoch that is not at its end: what the evaluation moves is none of its traffic.
  absl::Status EvaluateIfDue(EpochResult& epoch) {
    if (NextEvaluation() == 0 || Done() % options_.evaluate_every != 0) return absl::OkStatus();
    RETURN_IF_ERROR(CountTraffic());
    EpochResult here;
    RETURN_IF_ERROR(Evaluate(here));
    if (result_.enough) {
      epoch.test_loss = here.test_loss;
      epoch.test_metrics = here.test_metrics;
    }
    session_.ResetCounters();
    epoch_steps_.clear();
    StartClocks();
    return absl::OkStatus();
  }

  absl::Status PauseIfDue() {
    if (Done() != pause_) return absl::OkStatus();
    RETURN_IF_ERROR(options_.pauses.on_steps(Done(), sums_));
    return SetPause();
  }

  absl::Status SetPause() {
    ASSIGN_OR_RETURN(const int64_t next, options_.pauses.next(Done()));
    pause_ = next > 0 ? Done() + next : 0;
    return absl::OkStatus();
  }

  // A batch is staged while the step before runs, but not beyond the last one: at an epoch's end the places are those
  // of evaluation.
  absl::Status SomeSteps(int64_t count, EpochResult& epoch) {
    const auto entry = [this, first = Done()](int64_t step) -> const std::string& {
      return feed_.EntryOf(first + step);
    };
    const Batch* batch = nullptr;
    const auto make = [&]() -> absl::Status {
      ASSIGN_OR_RETURN(batch, batches_->Next());
      return absl::OkStatus();
    };
    const auto stage = [&](const std::string& of) { return Stage(*batch, of); };
    const auto end = [&]() -> absl::StatusOr<bool> {
      RETURN_IF_ERROR(EndStep(epoch));
      return !Stopped();
    };
    return RunInTurn(session_, count, entry, make, stage, end);
  }

  // The step that was not applied, and any behind it, left the states as they were. The number of steps goes on, and
  // the iteration with it: so a run that stops here and goes on is the same as one that does not.
  absl::Status SkipStep(const absl::Status& why) {
    ++result_.steps;
    ++result_.skipped_steps;
    const std::vector<std::string> states = session_.StateNames();
    if (std::ranges::find(states, kIterationName) != states.end()) {
      const auto iteration = static_cast<int32_t>(Done());
      HostTensor number{DType::kI32, {}, std::vector<char>(sizeof(iteration))};
      std::memcpy(number.bytes.data(), &iteration, sizeof(iteration));
      RETURN_IF_ERROR(session_.WriteState(kIterationName, number));
    }
    // What it moved is in no prediction.
    session_.ResetCounters();
    epoch_steps_.clear();
    options_.on_skip(Done(), why);
    RETURN_IF_ERROR(PrefetchOn());
    return Vote();
  }

  absl::Status Stage(const Batch& batch, const std::string& entry) {
    feed_.Stage(batch);
    vote_.Cast(entry);
    return absl::OkStatus();
  }

  absl::Status EndStep(EpochResult& epoch) {
    epoch.learning_rate = schedule_.Rate(Done()) * options_.rate_factor();
    const absl::StatusOr<StepResult> trained = session_.Finish();
    if (absl::IsOutOfRange(trained.status())) return Diagnose(trained.status());
    RETURN_IF_ERROR(trained.status());
    const StepResult& step = *trained;
    options_.on_step();
    ++epoch_steps_[feed_.EntryOf(Done())];
    ++epoch.steps;
    ++result_.steps;
    ++sums_.steps;
    sums_.loss += step.loss;
    AddShare(step.metrics, 1, sums_.metrics);
    RETURN_IF_ERROR(Pass(FailPoint::kTrainingStep));
    Report(epoch.learning_rate, step);
    if (Stopped()) return absl::OkStatus();  // by the step before
    ASSIGN_OR_RETURN(result_.stopped_by, vote_.Outcome());
    return absl::OkStatus();
  }

  void Report(double learning_rate, const StepResult& step) {
    const double epochs = static_cast<double>(Done()) / static_cast<double>(per_epoch_);
    progress_.Count(Done(), epochs, learning_rate, step);
    if (progress_.seconds() >= options_.progress_seconds) progress_.Tell();
    if (options_.report_every == 0) return;
    report_.Count(Done(), epochs, learning_rate, step);
    if (Done() % options_.report_every == 0) report_.Tell();
  }

  // What the step that was not applied says, with what it says about the same batch once more.
  absl::Status Diagnose(const absl::Status& refused) {
    ASSIGN_OR_RETURN(const std::unique_ptr<Prefetcher> again, feed_.Prefetch(Done(), 1));
    ASSIGN_OR_RETURN(const Batch* const batch, again->Next());
    RETURN_IF_ERROR(Stage(*batch, feed_.EntryOf(Done())));
    RETURN_IF_ERROR(session_.Diagnose());
    return refused;
  }

  absl::Status Evaluate(EpochResult& epoch) {
    RETURN_IF_ERROR(Pass(FailPoint::kTrainingEvaluation));
    ASSIGN_OR_RETURN(const auto evaluation, EvaluateSet(session_, data_.set_results, data_.test, options_.stop));
    if (!evaluation) return Vote();
    result_.enough = options_.is_enough(Done(), *evaluation);
    epoch.test_loss = evaluation->loss;
    epoch.test_metrics = evaluation->metrics;
    return absl::OkStatus();
  }

  // Of the steps since the counters were reset.
  absl::Status CountTraffic() {
    RETURN_IF_ERROR(AddTraffic());
    for (const auto& [entry, steps] : epoch_steps_) result_.steps_of[entry] += steps;
    return CheckTraffic(session_, epoch_steps_);
  }

  absl::Status AddTraffic() {
    ASSIGN_OR_RETURN(const std::vector<GroupTraffic> traffic, session_.JobTraffic());
    result_.traffic.resize(traffic.size());
    for (size_t g = 0; g < traffic.size(); ++g) {
      result_.traffic[g].bytes += traffic[g].bytes;
      result_.traffic[g].calls += traffic[g].calls;
      result_.traffic[g].waits += traffic[g].waits;
      result_.traffic[g].wait_seconds += traffic[g].wait_seconds;
    }
    return absl::OkStatus();
  }

  Session& session_;
  const TrainingData& data_;
  const TrainingOptions& options_;
  TrainingResult& result_;
  const BatchFeed feed_;
  std::unique_ptr<Prefetcher> batches_;
  double waited_before_ = 0;  // seconds, for batches of those before it
  double made_before_ = 0;    // likewise, to make them
  const StopVote vote_;
  Meter progress_, report_;
  const LearningRateSchedule schedule_;
  const int64_t per_epoch_;
  const int64_t steps_;
  int64_t pause_ = 0;  // at so many steps; 0: at none
  LossSums sums_;      // of the epoch that has not ended
  EntrySteps epoch_steps_;
};

// Sums of this program's metrics; of none, where no step was done.
absl::Status CheckSums(const EntryPoint& entry, const LossSums& sums) {
  std::vector<std::string> names;
  for (const EntryResult& result : entry.results) {
    if (!IsGenerated(result.name)) names.push_back(result.name);
  }
  bool same = sums.metrics.size() + 1 == names.size();
  for (size_t m = 0; same && m < sums.metrics.size(); ++m) same = sums.metrics[m].first == names[m + 1];
  if (same || (sums.steps == 0 && sums.metrics.empty())) return absl::OkStatus();
  return InvalidArgument("the epoch that is gone on with has sums of {} metrics, which are not the {} of this graph",
                         sums.metrics.size(), names.size() - 1);
}

}  // namespace

int64_t PlannedSteps(const TrainingOptions& options, int64_t batches_per_epoch) {
  CHECK(options.epochs > 0 || options.steps > 0);
  const int64_t all = options.epochs * batches_per_epoch;
  if (options.epochs == 0) return options.steps;
  return options.steps > 0 ? std::min(options.steps, all) : all;
}

void SetScheduleLength(int64_t steps, LearningRate& rate) {
  if (rate.steps == 0) rate.steps = steps;
}

TrainingPauses Together(TrainingPauses first, TrainingPauses second) {
  struct Both {
    TrainingPauses pauses[2];
    int64_t at[2] = {0, 0};  // which step
  };
  const auto both = std::make_shared<Both>(Both{{std::move(first), std::move(second)}});
  TrainingPauses pauses;
  // Each is asked where its last call was, and at the beginning.
  pauses.next = [both](int64_t step) -> absl::StatusOr<int64_t> {
    int64_t soonest = 0;
    for (int i = 0; i < 2; ++i) {
      if (both->at[i] <= step) {
        ASSIGN_OR_RETURN(const int64_t next, both->pauses[i].next(step));
        both->at[i] = next > 0 ? step + next : std::numeric_limits<int64_t>::max();
      }
      if (both->at[i] == std::numeric_limits<int64_t>::max()) continue;
      soonest = soonest == 0 ? both->at[i] - step : std::min(soonest, both->at[i] - step);
    }
    return soonest;
  };
  pauses.on_steps = [both](int64_t step, const LossSums& epoch) -> absl::Status {
    for (int i = 0; i < 2; ++i) {
      if (both->at[i] == step) RETURN_IF_ERROR(both->pauses[i].on_steps(step, epoch));
    }
    return absl::OkStatus();
  };
  pauses.on_evaluation = [both](int64_t step, const EpochResult& epoch) -> absl::Status {
    for (const TrainingPauses& one : both->pauses) RETURN_IF_ERROR(one.on_evaluation(step, epoch));
    return absl::OkStatus();
  };
  return pauses;
}

absl::Status Train(Session& session, const TrainingData& data, const TrainingOptions& options, TrainingResult& result) {
  ASSIGN_OR_RETURN(BatchFeed feed, BatchFeed::Create(session, kTrainEntry, data.training));
  ASSIGN_OR_RETURN(StopVote vote, StopVote::Create(session, kTrainEntry, options.stop));
  RETURN_IF_ERROR(CheckSums(*session.program().Find(kTrainEntry), options.first_epoch));
  const absl::Status status = Run(session, data, options, std::move(feed), std::move(vote), result).AllEpochs();
  result.left_out_files = data.left_out_files();
  return status;
}

}  // namespace partita
