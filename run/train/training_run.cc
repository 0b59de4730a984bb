#include "run/train/training_run.h"

#include <fmt/format.h>

#include <utility>

#include "graph/optimizer/optimizer.h"
#include "graph/proto_io/proto_io.h"
#include "graph/text/text.h"
#include "run/beginning/adapter_states.h"
#include "run/beginning/run_record.h"
#include "run/data/class_weights.h"
#include "run/data/data.h"
#include "run/plan/pixel_forms.h"
#include "run/plan/run_options.h"
#include "run/train/metric_lines.h"
#include "run/train/replica_checks.h"
#include "runtime/base/number.h"
#include "runtime/base/status.h"
#include "runtime/data/prefetcher.h"
#include "runtime/train/evaluator.h"

namespace partita {
namespace {

Augmentation ReadAugmentation(const RunSpec& spec) {
  return {.shift = spec.dataset().augmentation().shift(),
          .border = Border::kZero,
          .flip = spec.dataset().augmentation().flip()};
}

DataRequest RequestOf(const RunSpec& spec, const Model& model, const std::optional<Beginning>& beginning) {
  const AugmentationSpec& augmentation = spec.dataset().augmentation();
  DataRequest request{.augmentation = ReadAugmentation(spec),
                      .preprocessing = PreprocessingOf(beginning),
                      .scales = ScalesOf(beginning)};
  if (augmentation.has_crop_area()) request.least_area = augmentation.crop_area();
  request.colour = augmentation.colour();
  request.counts_labels = CountsLabels(spec);
  request.sizes = SizesOf(model);
  return request;
}

// Warns of a decay, of all parameters or of a group, that outweighs what training learns: usual ones are in the
// thousandths, rarely in the tenths.
void WarnOfDecay(const Model& model, std::vector<std::string>& warnings) {
  constexpr double kMost = 10;
  const double rate = model.learning_rate.base;
  const auto check = [&](const std::string& where, double factor, const Attributes& attributes) {
    const Attribute* const decay = attributes.Find("weight_decay");
    if (decay == nullptr) return;
    const double value = attributes.Float("weight_decay"), share = rate * factor * value;
    if (value < kMost && share < 1) return;
    warnings.push_back(
        fmt::format("{}.weight_decay is {} at a learning rate of {}: parameters decay faster than they learn; usual "
                    "values are below 1, and below 1 in their product with the rate",
                    where, value, rate * factor));
  };
  check("optimizer", 1, model.optimizer.attributes);
  for (const ParameterGroup& group : model.optimizer.groups) {
    check(fmt::format("optimizer.groups '{}'", group.pattern), group.rate,
          GroupAttributes(model.optimizer.attributes, group));
  }
}

// The others must hear of an error that only this rank has met, as of a file of its own, before it waits for them in
// anything. What is not finite all have met, and nothing is wrong with the ranks.
void EndTogether(const absl::Status& trained, FlightKeeper& flight, Session& session) {
  if (absl::IsOutOfRange(trained)) return;
  flight.Keep(session.FlightRecords(), trained);
  session.Abort(trained);
}

// Whether what was done can be saved though training ended with an error: one of the data comes between two steps.
// Where other processes wait in the next step for the rows of this one it cannot.
bool IsSaved(const absl::Status& trained, const TrainingResult& result, const Session& session) {
  return trained.ok() || (IsDataError(trained) && result.steps > 0 && session.alone());
}

// Each callback that may write holds the end of the process.
TrainingPauses Held(TrainingPauses pauses, const BeginWriting& begin_writing) {
  TrainingPauses held;
  held.next = std::move(pauses.next);
  held.on_steps = [begin_writing, on_steps = std::move(pauses.on_steps)](int64_t step, const LossSums& epoch) {
    const Writing writing = begin_writing();
    return on_steps(step, epoch);
  };
  held.on_evaluation = [begin_writing, on_evaluation = std::move(pauses.on_evaluation)](int64_t step,
                                                                                        const EpochResult& epoch) {
    const Writing writing = begin_writing();
    return on_evaluation(step, epoch);
  };
  return held;
}

absl::Status Save(int64_t step, const LossSums& epoch, Checkpointer& checkpointer, ModelSaver& saver) {
  RETURN_IF_ERROR(checkpointer.Finish(step, epoch));
  return saver.Save(step);
}

}  // namespace

// Where training has come to, if what it begins with is something that it goes on from.
absl::Status TrainingRun::BeginWhere(const Beginning& beginning) {
  TrainingPosition& position = *record_.training;
  const int64_t per_epoch = data_.training->batches_per_epoch();
  RETURN_IF_ERROR(GoOn(beginning, PlannedSteps(options_, per_epoch), position));
  if (beginning.position() == nullptr) return absl::OkStatus();
  options_.first_step = position.step;
  resumed_ = fmt::format("goes on at step {} (epoch {}, {} of its {} steps are done)", position.step,
                         position.step / per_epoch + 1, position.step % per_epoch, per_epoch);
  warnings_ = ChangesOf(*beginning.position(), position);
  if (position.step >= PlannedSteps(options_, per_epoch)) {
    warnings_.push_back(fmt::format(
        "{}: nothing is left to train: it is at step {}, where --epochs and --steps end the run; another --checkpoint, "
        "or none, begins anew",
        beginning.path, position.step));
  }
  return absl::OkStatus();
}

absl::Status TrainingRun::Start(std::optional<LoadedModel> loaded, const std::optional<ResumedCheckpoint>& resumed,
                                const Joining& joining, const std::vector<std::string>& predictions) {
  ASSIGN_OR_RETURN(Program program,
                   ProgramOf(spec_, plan_, {.given = GivenFormsOf(data_), .predictions = predictions}));
  ASSIGN_OR_RETURN(data_.set_results, SetResultsOf(plan_.model));
  if (data_.test != nullptr) {
    RETURN_IF_ERROR(CheckLastBatch(*program.Find(kEvaluateEntry), data_.set_results, *data_.test));
  }
  absl::StatusOr<std::unique_ptr<Session>> session =
      resumed ? ResumeSession(spec_, plan_, data_, std::move(program), resumed->saved, joining)
              : StartSession(spec_, plan_, data_, std::move(program), std::move(loaded), joining);
  ASSIGN_OR_RETURN(session_, std::move(session));
  flight_ = joining.flight;
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<TrainingRun>> TrainingRun::Prepare(const RunSpec& spec, std::optional<Model> given,
                                                                  const Joining& joining,
                                                                  const std::vector<std::string>& predictions) {
  RETURN_IF_ERROR(CheckCheckpointFlags(spec));
  RETURN_IF_ERROR(CheckResumeFlags(spec));
  RETURN_IF_ERROR(TrainingRecorder::CheckFlags(spec));
  std::unique_ptr<TrainingRun> run(new TrainingRun(spec));
  ASSIGN_OR_RETURN(run->plan_, PlanRun(spec, {.processes = joining.processes()}, std::move(given)));
  Model& model = run->plan_.model;
  std::vector<std::string> decays;
  WarnOfDecay(model, decays);
  RETURN_IF_ERROR(CheckAdapterSave(spec, model));
  ASSIGN_OR_RETURN(std::optional<LoadedModel> loaded, OpenLoaded(spec, model, /*trains=*/true));
  ASSIGN_OR_RETURN(const Resumption resumption, OpenResumed(spec, model));
  const std::optional<ResumedCheckpoint>& resumed = resumption.checkpoint;
  std::optional<Beginning> beginning;
  if (loaded) beginning = loaded->beginning();
  if (resumed) beginning = resumed->beginning;
  ASSIGN_OR_RETURN(run->data_, ReadData(spec, model.graph, RequestOf(spec, model, beginning)));
  RETURN_IF_ERROR(WeighByData(spec, run->data_, model));
  if (beginning) RETURN_IF_ERROR(CheckImages(*beginning, run->data_));
  ASSIGN_OR_RETURN(run->target_, TrainingTarget::Read(spec, model, run->data_));
  TrainingOptions& options = run->options_;
  options.steps = spec.train().steps();
  const bool steps_alone = options.steps > 0 && !spec.train().has_epochs();
  options.epochs = steps_alone ? 0 : spec.train().epochs();
  options.skip_budget = spec.train().skip_budget();
  options.evaluate_every = spec.train().evaluate_every();
  const int64_t steps = PlannedSteps(options, run->data_.training->batches_per_epoch());
  SetScheduleLength(steps, model.learning_rate);
  run->record_ = RecordOfRun(spec, model, run->data_);
  if (beginning) RETURN_IF_ERROR(run->BeginWhere(*beginning));
  ASSIGN_OR_RETURN(run->patience_, Patience::Read(spec, run->data_, run->record_.training->stagnation));
  ASSIGN_OR_RETURN(run->plateau_, Plateau::Read(model, run->data_, run->record_.training->plateau));
  if (run->patience_ && run->patience_->is_over()) {
    const int64_t epoch = options.first_step / run->data_.training->batches_per_epoch();
    run->warnings_.push_back(fmt::format("{}: its training has ended: {}; a larger --patience continues it",
                                         beginning->path, run->patience_->ToString(epoch)));
  }
  RETURN_IF_ERROR(run->data_.training->CheckBatches(options.first_step, steps));
  if (resumed) options.first_epoch = resumed->saved.record().epoch;
  if (spec.checkpoints().has_resume() && !resumed) {
    run->resumed_ = fmt::format("{} has no checkpoint: training begins at step 0", spec.checkpoints().checkpoint());
  }
  for (const std::string& passed : resumption.passed_over) run->warnings_.push_back(passed);
  for (const std::string& decay : decays) run->warnings_.push_back(decay);
  RETURN_IF_ERROR(run->Start(std::move(loaded), resumed, joining, predictions));
  return run;
}

// The error, and where what was learnt before it is.
absl::Status TrainingRun::WithSaved(const absl::Status& trained, const absl::Status& saved, int64_t step) const {
  std::string where;
  if (spec_.saving().has_save_adapter()) where = spec_.saving().save_adapter();
  if (spec_.saving().has_save()) where = spec_.saving().save();
  if (spec_.checkpoints().has_checkpoint()) where += (where.empty() ? "" : " and ") + spec_.checkpoints().checkpoint();
  if (where.empty()) return trained;
  const std::string what = saved.ok()
                               ? fmt::format("what was learnt in {} is saved in {}", Counted(step, "step"), where)
                               : fmt::format("what was learnt in {} could not be saved: {}", Counted(step, "step"),
                                             std::string(saved.message()));
  return absl::Status(trained.code(), fmt::format("{}; {}", std::string(trained.message()), what));
}

absl::StatusOr<TrainingEnd> TrainingRun::Train(const BeginWriting& begin_writing,
                                               const std::function<void(const std::string&)>& say) {
  if (saver_ == nullptr) {
    absl::StatusOr<std::unique_ptr<TrainingRecorder>> recorder =
        TrainingRecorder::Open(spec_, *session_, options_.first_step, on_line_);
    if (!recorder.ok()) session_->Abort(recorder.status());  // the other processes wait for this one
    ASSIGN_OR_RETURN(recorder_, std::move(recorder));
    saver_ = std::make_unique<ModelSaver>(spec_, *session_, plan_.model, record_, patience_, plateau_);
    ASSIGN_OR_RETURN(checkpointer_, Checkpointer::Open(spec_, *session_, *saver_,
                                                       {PrintStrategy(plan_.chosen.strategy, ProtoFormat::kText),
                                                        LinesOf(plan_.model), options_.first_step}));
    // What has diverged is not saved.
    TrainingPauses plateau;
    if (plateau_) {
      RETURN_IF_ERROR(plateau_->ReadFactor(*session_));
      plateau = plateau_->Pauses(*session_);
    }
    options_.pauses = Held(Together(plateau, Together(ReplicaChecks(spec_, *session_),
                                                      Together(checkpointer_->Pauses(), saver_->Pauses()))),
                           begin_writing);
  }
  TrainingEnd end;
  if (recorder_ != nullptr) recorder_->Begin(RunLine(spec_, plan_, data_, options_, *session_));
  const bool was_over = patience_ && patience_->is_over();
  if (!was_over) end.trained = partita::Train(*session_, data_, WatchedOptions(say), end.result);
  if (end.result.enough && patience_ && patience_->is_over()) {
    const int64_t done = options_.first_step + end.result.steps;
    end.stopped_early = patience_->ToString(done / data_.training->batches_per_epoch());
  }
  end.is_saved = IsSaved(end.trained, end.result, *session_);
  if (!end.is_saved) EndTogether(end.trained, *flight_, *session_);
  end.writing = begin_writing();
  const int64_t step = options_.first_step + end.result.steps;
  if (end.is_saved) {
    end.saved = Save(step, end.result.open_epoch, *checkpointer_, *saver_);
  } else if (absl::IsOutOfRange(end.trained)) {
    end.saved = checkpointer_->FinishWritten();
  }
  if (!end.trained.ok() && end.is_saved) end.trained = WithSaved(end.trained, end.saved, step);
  options_.first_step = step;
  options_.first_epoch = end.result.open_epoch;
  if (recorder_ != nullptr) recorder_->End(EndLine(step, end));
  return end;
}

TrainingOptions TrainingRun::WatchedOptions(const std::function<void(const std::string&)>& say) {
  TrainingOptions options = options_;
  options.is_enough = [this, say](int64_t step, const Evaluation& evaluation) {
    return IsEnough(step, evaluation, say);
  };
  if (plateau_) options.rate_factor = [this] { return plateau_->factor(); };
  if (recorder_ != nullptr) recorder_->Watch(options);
  return options;
}

bool TrainingRun::IsEnough(int64_t step, const Evaluation& evaluation,
                           const std::function<void(const std::string&)>& say) {
  const int64_t per_epoch = data_.training->batches_per_epoch();
  const double epoch = static_cast<double>(step) / static_cast<double>(per_epoch);
  if (recorder_ != nullptr) recorder_->AddEvaluation(step, epoch, evaluation);
  // Where nobody asked for evaluations within epochs, the last one is in the epoch's own line.
  const bool is_asked = target_ || spec_.train().evaluate_every() > 0;
  if (is_asked && step % per_epoch != 0) {
    std::string line = fmt::format("step {} (epoch {:.2f})  test loss {:.4f}", step, epoch, evaluation.loss);
    for (const auto& [name, value] : evaluation.metrics) line += fmt::format("  {} {:.4f}", name, value);
    say(line);
  }
  const bool is_met = target_ && target_->Take(step, evaluation);
  if (!patience_ || step % per_epoch != 0) return is_met;
  patience_->Take(ScoreOf(plan_.model.graph, evaluation.loss, evaluation.metrics));
  return is_met || patience_->is_over();
}

ModelRecord TrainingRun::record() const {
  if (saver_ != nullptr) return saver_->Record(options_.first_step);
  ModelRecord record = record_;
  record.training->step = options_.first_step;
  return record;
}

}  // namespace partita
