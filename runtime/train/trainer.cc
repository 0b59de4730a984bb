#include "runtime/train/trainer.h"

#include <algorithm>
#include <chrono>

#include "ops/values/learning_rate.h"
#include "runtime/base/status.h"
#include "runtime/train/batch_feed.h"
#include "runtime/train/evaluator.h"
#include "runtime/train/run_in_turn.h"
#include "runtime/train/stop_vote.h"

namespace partita {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// What progress lines tell: means since the line before.
class Meter {
 public:
  Meter(const Session& session, const TrainingOptions& options, int64_t rows) : options_(options), rows_(rows) {
    for (int rank = 0; rank < session.ranks(); ++rank) {
      memory_ = std::max(memory_, session.PlannedMemory(rank).total);
    }
  }

  void Start() {
    start_ = Clock::now();
    loss_ = 0;
    metrics_.clear();
    steps_ = 0;
  }

  void Count(int64_t step, double epochs, double learning_rate, const StepResult& result) {
    loss_ += result.loss;
    AddShare(result.metrics, 1, metrics_);
    ++steps_;
    const double seconds = SecondsSince(start_);
    if (seconds < options_.progress_seconds) return;
    const double steps = static_cast<double>(steps_);
    for (auto& [name, value] : metrics_) value /= steps;
    options_.on_progress({step, epochs, loss_ / steps, learning_rate, steps * static_cast<double>(rows_) / seconds,
                          seconds / steps * 1e3, memory_, 0, metrics_});
    Start();
  }

 private:
  const TrainingOptions& options_;
  const int64_t rows_;
  int64_t memory_ = 0;
  Clock::time_point start_ = Clock::now();
  double loss_ = 0;
  Metrics metrics_;
  int64_t steps_ = 0;
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
        meter_(session, options, data.training->batch_rows()),
        schedule_(ScheduleOf(session.program().learning_rate)),
        per_epoch_(data.training->batches_per_epoch()),
        steps_(PlannedSteps(options, per_epoch_)) {}

  absl::Status AllEpochs() {
    if (options_.first_step > 0) session_.NumberStepsFrom(options_.first_step);
    ASSIGN_OR_RETURN(const std::unique_ptr<Prefetcher> batches, feed_.Prefetch(Done(), std::max(int64_t{0}, Left())));
    RETURN_IF_ERROR(Vote());
    while (Left() > 0 && !Stopped()) {
      EpochResult epoch;
      epoch.epoch = static_cast<int>(Done() / per_epoch_) + 1;
      const absl::Status trained = OneEpoch(*batches, epoch);
      result_.seconds += epoch.seconds;
      result_.data_wait_seconds = batches->waited_seconds();
      result_.samples += epoch.samples;
      const bool evaluate = trained.ok() && !Stopped() && data_.test != nullptr;
      const absl::Status evaluated = evaluate ? Evaluate(epoch) : trained;
      result_.epochs.push_back(epoch);
      RETURN_IF_ERROR(evaluated);
      options_.on_epoch(epoch);
      if (Stopped()) break;
      RETURN_IF_ERROR(options_.pauses.on_evaluation(Done(), epoch));
      RETURN_IF_ERROR(PauseIfDue());
    }
    return absl::OkStatus();
  }

 private:
  bool Stopped() const { return result_.stopped_by != 0; }
  int64_t Done() const { return options_.first_step + result_.steps; }
  int64_t Left() const { return steps_ - Done(); }
  // Steps until `period` divides their number, 1 at least.
  int64_t Until(int64_t period) const { return period - Done() % period; }

  // Outside of steps.
  absl::Status Vote() {
    ASSIGN_OR_RETURN(result_.stopped_by, VoteToStop(session_, options_.stop));
    return absl::OkStatus();
  }

  absl::Status OneEpoch(Prefetcher& batches, EpochResult& epoch) {
    session_.ResetCounters();
    meter_.Start();
    const absl::Status status = AllSteps(batches, epoch);
    epoch.samples = epoch.steps * data_.training->batch_rows();
    if (epoch.steps > 0) {
      epoch.loss /= static_cast<double>(epoch.steps);
      for (auto& [name, value] : epoch.metrics) value /= static_cast<double>(epoch.steps);
    }
    RETURN_IF_ERROR(status);
    RETURN_IF_ERROR(AddTraffic());
    return CheckTraffic(session_, kTrainEntry, epoch.steps);
  }

  // To the epoch's end, with the pauses before it; one that is due there comes after the evaluation.
  absl::Status AllSteps(Prefetcher& batches, EpochResult& epoch) {
    const int64_t every = options_.pauses.every;
    for (int64_t left = std::min(Until(per_epoch_), Left()); left > 0 && !Stopped();) {
      const int64_t count = every > 0 ? std::min(left, Until(every)) : left;
      const Clock::time_point start = Clock::now();
      const absl::Status status = SomeSteps(batches, count, epoch);
      epoch.seconds += SecondsSince(start);
      RETURN_IF_ERROR(status);
      left -= count;
      if (left > 0 && !Stopped()) RETURN_IF_ERROR(PauseIfDue());
    }
    return absl::OkStatus();
  }

  absl::Status PauseIfDue() const {
    const int64_t every = options_.pauses.every;
    return every > 0 && Done() % every == 0 ? options_.pauses.on_steps(Done()) : absl::OkStatus();
  }

  // A batch is staged while the step before runs, but not beyond the last one: at an epoch's end the places are those
  // of evaluation.
  absl::Status SomeSteps(Prefetcher& batches, int64_t count, EpochResult& epoch) {
    const auto stage = [&]() -> absl::Status {
      ASSIGN_OR_RETURN(const Batch* const batch, batches.Next());
      feed_.Stage(*batch);
      vote_.Cast();
      return absl::OkStatus();
    };
    const auto end = [&]() -> absl::StatusOr<bool> {
      RETURN_IF_ERROR(EndStep(epoch));
      return !Stopped();
    };
    return RunInTurn(session_, kTrainEntry, count, stage, end);
  }

  absl::Status EndStep(EpochResult& epoch) {
    epoch.learning_rate = schedule_.Rate(Done());
    const absl::StatusOr<StepResult> trained = session_.Finish();
    if (absl::IsOutOfRange(trained.status())) return Diagnose(trained.status());
    RETURN_IF_ERROR(trained.status());
    const StepResult& step = *trained;
    options_.on_step();
    ++epoch.steps;
    ++result_.steps;
    epoch.loss += step.loss;
    AddShare(step.metrics, 1, epoch.metrics);
    meter_.Count(Done(), static_cast<double>(Done()) / static_cast<double>(per_epoch_), epoch.learning_rate, step);
    if (Stopped()) return absl::OkStatus();  // by the step before
    ASSIGN_OR_RETURN(result_.stopped_by, vote_.Outcome());
    return absl::OkStatus();
  }

  // What the step that was not applied says, with what it says about the same batch once more.
  absl::Status Diagnose(const absl::Status& refused) {
    ASSIGN_OR_RETURN(const std::unique_ptr<Prefetcher> again, feed_.Prefetch(Done(), 1));
    ASSIGN_OR_RETURN(const Batch* const batch, again->Next());
    feed_.Stage(*batch);
    vote_.Cast();
    RETURN_IF_ERROR(session_.Diagnose());
    return refused;
  }

  absl::Status Evaluate(EpochResult& epoch) {
    ASSIGN_OR_RETURN(const auto evaluation, EvaluateSet(session_, data_.test, options_.stop));
    if (!evaluation) return Vote();
    epoch.test_loss = evaluation->loss;
    epoch.test_metrics = evaluation->metrics;
    return absl::OkStatus();
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
  const StopVote vote_;
  Meter meter_;
  const LearningRateSchedule schedule_;
  const int64_t per_epoch_;
  const int64_t steps_;
};

}  // namespace

int64_t PlannedSteps(const TrainingOptions& options, int64_t batches_per_epoch) {
  const int64_t all = options.epochs * batches_per_epoch;
  return options.steps > 0 ? std::min(options.steps, all) : all;
}

void SetScheduleLength(int64_t steps, LearningRate& rate) {
  if (rate.steps == 0) rate.steps = steps;
}

absl::Status Train(Session& session, const TrainingData& data, const TrainingOptions& options, TrainingResult& result) {
  ASSIGN_OR_RETURN(BatchFeed feed, BatchFeed::Create(session, kTrainEntry, data.training));
  ASSIGN_OR_RETURN(StopVote vote, StopVote::Create(session, kTrainEntry, options.stop));
  return Run(session, data, options, std::move(feed), std::move(vote), result).AllEpochs();
}

}  // namespace partita
