// `trainer train`: from a graph, a strategy and a data set to parameters.
#include <spdlog/spdlog.h>

#include "graph/optimizer/optimizer.h"
#include "graph/proto_io/proto_io.h"
#include "partitioner/choose/ranked_finalists.h"
#include "runtime/data/prefetcher.h"
#include "runtime/telemetry/progress_bar.h"
#include "runtime/train/evaluator.h"
#include "runtime/train/trainer.h"
#include "tools/commands/commands.h"
#include "tools/commands/input/beginning.h"
#include "tools/commands/input/chosen_strategy.h"
#include "tools/commands/input/data/data.h"
#include "tools/commands/input/graph_hash.h"
#include "tools/commands/input/inputs.h"
#include "tools/commands/input/loaded_model.h"
#include "tools/commands/input/machine.h"
#include "tools/commands/input/pixel_forms.h"
#include "tools/commands/input/resumed_checkpoint.h"
#include "tools/commands/input/run_options.h"
#include "tools/commands/input/run_record.h"
#include "tools/commands/oracle/graded_training.h"
#include "tools/commands/output/outputs.h"
#include "tools/commands/output/report.h"
#include "tools/commands/output/strategy_file.h"
#include "tools/commands/output/timeline.h"
#include "tools/commands/processes/checkpointer.h"
#include "tools/commands/processes/finish_writing.h"
#include "tools/commands/processes/flight_keeping.h"
#include "tools/commands/processes/model_saver.h"
#include "tools/commands/processes/processes.h"
#include "tools/commands/processes/replica_checks.h"
#include "tools/commands/processes/signals.h"
#include "tools/commands/processes/start_session.h"
#include "tools/commands/target/training_target.h"
#include "tools/program/exit_code.h"

namespace partita {
namespace {

// Between two looks of the progress bar; lines of the log are further apart.
constexpr double kBarSeconds = 0.25;

// Steps that are not held against predictions: they touch memory and load kernels for the first time.
constexpr int64_t kWarmUp = 3;

struct Prepared {
  RunPlan plan;
  TrainingData data;
  TrainingOptions options;
  ModelRecord record;                 // where training begins
  std::optional<std::string> onward;  // what is said where it goes on
  std::vector<std::string> changes;   // since then, and what else is to be warned of
  std::string strategy;               // as text
  std::optional<TrainingTarget> target;
  std::unique_ptr<Session> session;
};

Augmentation ReadAugmentation(const RunSpec& spec) {
  return {.shift = spec.dataset().augmentation().shift(),
          .border = Border::kZero,
          .flip = spec.dataset().augmentation().flip()};
}

// Where training has come to, if what it begins with is something that it goes on from.
absl::Status BeginWhere(const Beginning& beginning, Prepared& prepared) {
  TrainingPosition& position = *prepared.record.training;
  const int64_t per_epoch = prepared.data.training->batches_per_epoch();
  RETURN_IF_ERROR(GoOn(beginning, PlannedSteps(prepared.options, per_epoch), position));
  if (beginning.position() == nullptr) return absl::OkStatus();
  prepared.options.first_step = position.step;
  prepared.onward = fmt::format("goes on at step {} (epoch {}, {} of its {} steps are done)", position.step,
                                position.step / per_epoch + 1, position.step % per_epoch, per_epoch);
  prepared.changes = ChangesOf(*beginning.position(), position);
  if (position.step >= PlannedSteps(prepared.options, per_epoch)) {
    prepared.changes.push_back(fmt::format(
        "{}: nothing is left to train: it is at step {}, where --epochs and --steps end the run; another --checkpoint, "
        "or none, begins anew",
        beginning.path, position.step));
  }
  return absl::OkStatus();
}

// Whether a decay, of all parameters or of a group, outweighs what training learns: it is in the thousandths, rarely
// in the tenths.
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

// Everything that can be refused is refused here, before anything is written.
absl::StatusOr<Prepared> Prepare(const RunSpec& spec) {
  RETURN_IF_ERROR(CheckOutputs(spec));
  RETURN_IF_ERROR(CheckSaveFlags(spec));
  RETURN_IF_ERROR(CheckCheckpointFlags(spec));
  RETURN_IF_ERROR(CheckResumeFlags(spec));
  Prepared prepared;
  ASSIGN_OR_RETURN(prepared.plan, PlanRun(spec));
  Model& model = prepared.plan.model;
  WarnOfDecay(model, prepared.plan.warnings);
  ASSIGN_OR_RETURN(std::optional<LoadedModel> loaded, OpenLoaded(spec, model, /*trains=*/true));
  ASSIGN_OR_RETURN(const Resumption resumption, OpenResumed(spec, model));
  const std::optional<ResumedCheckpoint>& resumed = resumption.checkpoint;
  std::optional<Beginning> beginning;
  if (loaded) beginning = loaded->beginning();
  if (resumed) beginning = resumed->beginning;
  DataRequest request{.augmentation = ReadAugmentation(spec),
                      .preprocessing = PreprocessingOf(beginning),
                      .scales = ScalesOf(beginning)};
  if (spec.dataset().augmentation().has_crop_area()) request.least_area = spec.dataset().augmentation().crop_area();
  request.colour = spec.dataset().augmentation().colour();
  request.sizes = SizesOf(model);
  ASSIGN_OR_RETURN(prepared.data, ReadData(spec, model.graph, request));
  if (beginning) RETURN_IF_ERROR(CheckImages(*beginning, prepared.data));
  ASSIGN_OR_RETURN(prepared.target, TrainingTarget::Read(spec, model, prepared.data));
  prepared.options.steps = spec.train().steps();
  const bool steps_alone = prepared.options.steps > 0 && !spec.train().has_epochs();
  prepared.options.epochs = steps_alone ? 0 : spec.train().epochs();
  prepared.options.skip_budget = spec.train().skip_budget();
  SetScheduleLength(PlannedSteps(prepared.options, prepared.data.training->batches_per_epoch()), model.learning_rate);
  prepared.record = RecordOfRun(spec, model, prepared.data);
  if (beginning) RETURN_IF_ERROR(BeginWhere(*beginning, prepared));
  RETURN_IF_ERROR(prepared.data.training->CheckBatches(
      prepared.options.first_step, PlannedSteps(prepared.options, prepared.data.training->batches_per_epoch())));
  if (resumed) prepared.options.first_epoch = resumed->saved.record().epoch;
  if (spec.checkpoints().has_resume() && !resumed) {
    prepared.onward = fmt::format("{} has no checkpoint: training begins at step 0", spec.checkpoints().checkpoint());
  }
  for (const std::string& passed : resumption.passed_over) prepared.changes.push_back(passed);
  ASSIGN_OR_RETURN(Program program, ProgramOf(spec, prepared.plan, {.given = GivenFormsOf(prepared.data)}));
  ASSIGN_OR_RETURN(prepared.data.set_results, SetResultsOf(model));
  if (prepared.data.test != nullptr) {
    RETURN_IF_ERROR(CheckLastBatch(*program.Find(kEvaluateEntry), prepared.data.set_results, *prepared.data.test));
  }
  prepared.strategy = PrintStrategy(prepared.plan.chosen.strategy, ProtoFormat::kText);
  absl::StatusOr<std::unique_ptr<Session>> session =
      resumed ? ResumeSession(spec, prepared.plan, prepared.data, std::move(program), resumed->saved)
              : StartSession(spec, prepared.plan, prepared.data, std::move(program), std::move(loaded));
  ASSIGN_OR_RETURN(prepared.session, std::move(session));
  return prepared;
}

std::string OutcomeOf(const absl::Status& status, bool stopped) {
  if (status.ok()) return stopped ? "interrupted" : "finished";
  return status.code() == absl::StatusCode::kOutOfRange ? "non_finite" : "failed";
}

// The others must hear of an error that only this rank has met, as of a file of its own, before it waits for them in
// anything. What is not finite all have met, and nothing is wrong with the ranks.
void EndTogether(const absl::Status& trained, Session& session) {
  if (absl::IsOutOfRange(trained)) return;
  KeepFlightRecords(session.FlightRecords(), trained);
  session.Abort(trained);
}

absl::Status Save(const RunSpec& spec, const Session& session, int64_t step, const LossSums& epoch,
                  Checkpointer& checkpointer, ModelSaver& saver) {
  RETURN_IF_ERROR(checkpointer.Finish(step, epoch));
  RETURN_IF_ERROR(saver.Save(step));
  if (spec.output().has_trace() && Speaks(session)) return SaveTimeline(session, spec.output().trace());
  return absl::OkStatus();
}

// Whether what was done can be saved though training ended with an error: one of the data comes between two steps.
// Where other processes wait in the next step for the rows of this one it cannot.
bool IsSaved(const absl::Status& trained, const TrainingResult& result, const Session& session) {
  const bool alone = static_cast<int>(session.local_ranks().size()) == session.ranks();
  return trained.ok() || (IsDataError(trained) && result.steps > 0 && alone);
}

// The error, and where what was learnt before it is.
absl::Status WithSaved(const absl::Status& trained, const absl::Status& saved, int64_t step, const RunSpec& spec) {
  std::string where;
  if (spec.saving().has_save()) where = spec.saving().save();
  if (spec.checkpoints().has_checkpoint()) where += (where.empty() ? "" : " and ") + spec.checkpoints().checkpoint();
  if (where.empty()) return trained;
  const std::string what =
      saved.ok() ? fmt::format("what {} steps have learnt is saved in {}", step, where)
                 : fmt::format("what {} steps have learnt could not be saved: {}", step, std::string(saved.message()));
  return absl::Status(trained.code(), fmt::format("{}; {}", std::string(trained.message()), what));
}

absl::Status SayChoice(const RunSpec& spec, const ChosenStrategy& chosen, bool text, std::ostream& out) {
  if (text && Searches(spec)) out << FormatFinalists(chosen.finalists) << std::endl;
  if (!spec.split().has_save_strategy()) return absl::OkStatus();
  return SaveFoundStrategy(chosen.strategy, chosen.finalists, spec.split().save_strategy());
}

// Which of --epochs and --steps ends the run, where both are given.
void SayEnd(const Prepared& prepared, std::ostream& out) {
  const int64_t epochs = prepared.options.epochs, steps = prepared.options.steps;
  if (epochs == 0 || steps == 0) return;
  const int64_t of_epochs = epochs * prepared.data.training->batches_per_epoch();
  if (of_epochs == steps) return;
  out << fmt::format("training ends after {} steps: --{} comes before --{}\n", std::min(of_epochs, steps),
                     of_epochs < steps ? fmt::format("epochs={}", epochs) : fmt::format("steps={}", steps),
                     of_epochs < steps ? fmt::format("steps={}", steps) : fmt::format("epochs={}", epochs));
}

void SayBeginning(const Prepared& prepared, bool text, std::ostream& out) {
  if (!prepared.onward) return;
  if (text) out << *prepared.onward << std::endl;
  if (!Speaks(*prepared.session)) return;
  for (const std::string& change : prepared.changes) spdlog::warn("{}", change);
}

// Where the parameters are now, and how to use them.
void SayWhatWasSaved(const ContextOf<RunSpec>& context, std::ostream& out) {
  const RunSpec& spec = context.spec;
  if (spec.saving().has_save()) {
    const std::string& file = spec.saving().save();
    out << fmt::format("saved           {}: train, evaluate and predict read it by --load={}\n", file, file);
  }
  if (spec.saving().has_save_best())
    out << fmt::format("saved           {}: the best of all epochs\n", spec.saving().save_best());
  if (spec.checkpoints().has_checkpoint()) {
    const std::string& folder = spec.checkpoints().checkpoint();
    out << fmt::format("checkpoints     {}: train --checkpoint={} --resume=auto resumes from the newest\n", folder,
                       folder);
  }
  if (!spec.saving().has_save() && !spec.saving().has_save_best() && !spec.checkpoints().has_checkpoint()) {
    out << "saved           nothing: --save=FILE keeps the parameters, --checkpoint=FOLDER the whole run\n";
  }
}

absl::StatusOr<int> RunTrain(const ContextOf<RunSpec>& context) {
  ASSIGN_OR_RETURN(Prepared prepared, Prepare(context.spec));
  const StopSignals signals;
  const bool speaks = Speaks(*prepared.session);
  const bool text = context.spec.output().format() == "text";
  const std::vector<std::string> accuracies = AccuraciesOf(prepared.plan.model.graph);
  std::ostream& out = speaks ? context.out : Silence();
  prepared.options.stop = &signals.flag();
  ProgressBar bar(PlannedSteps(prepared.options, prepared.data.training->batches_per_epoch()));
  const bool shows_bar = ProgressBar::HasTerminal() && spdlog::should_log(spdlog::level::info);
  if (shows_bar) prepared.options.progress_seconds = kBarSeconds;
  prepared.options.on_progress = [&](const Progress& progress) {
    if (!speaks) return;
    shows_bar ? bar.Show(progress) : spdlog::info("{}", FormatProgress(progress));
  };
  int64_t skipped = 0;
  prepared.options.on_skip = [&](int64_t step, const absl::Status& why) {
    ++skipped;
    if (!speaks) return;
    bar.Clear();
    spdlog::warn("step {} was left out ({} of {}): {}", step, skipped, prepared.options.skip_budget,
                 std::string(why.message()));
  };
  prepared.options.on_epoch = [&](const EpochResult& epoch) {
    bar.Clear();
    if (text) out << FormatEpoch(epoch, accuracies) << std::endl;
  };
  if (prepared.target) {
    prepared.target->SetIn(prepared.options, [&](const std::string& line) {
      if (!speaks) return;
      bar.Clear();
      spdlog::info("{}", line);
    });
  }
  std::optional<CommunicationMeter> communication;
  if (prepared.session->ranks() > 1) communication.emplace(*prepared.session);  // a rank that is alone has none
  std::optional<GradedTraining> graded;
  if (prepared.plan.machine) {
    ASSIGN_OR_RETURN(graded, GradedTraining::Begin(*prepared.session, *prepared.plan.machine));
  }
  prepared.options.on_step = [&, steps = int64_t{0}]() mutable {
    if (communication) communication->AddStep();
    if (graded && ++steps > kWarmUp) graded->AddStep();
  };
  if (speaks) RETURN_IF_ERROR(SayChoice(context.spec, prepared.plan.chosen, text, out));
  SayBeginning(prepared, text, out);
  if (text) SayEnd(prepared, out);
  ModelSaver saver(context.spec, *prepared.session, prepared.plan.model, prepared.record);
  ASSIGN_OR_RETURN(const std::unique_ptr<Checkpointer> checkpointer,
                   Checkpointer::Open(context.spec, *prepared.session, saver,
                                      {prepared.strategy, LinesOf(prepared.plan.model), prepared.options.first_step}));
  // What has diverged is not saved.
  prepared.options.pauses =
      Together(ReplicaChecks(context.spec, *prepared.session), Together(checkpointer->Pauses(), saver.Pauses()));
  TrainingResult result;
  absl::Status trained = Train(*prepared.session, prepared.data, prepared.options, result);
  const bool is_saved = IsSaved(trained, result, *prepared.session);
  if (!is_saved) EndTogether(trained, *prepared.session);
  bar.Clear();
  const FinishWriting finish;
  const int64_t step = prepared.options.first_step + result.steps;
  absl::Status saved;
  if (is_saved) {
    saved = Save(context.spec, *prepared.session, step, result.open_epoch, *checkpointer, saver);
  } else if (absl::IsOutOfRange(trained)) {
    saved = checkpointer->FinishWritten();
  }
  if (!trained.ok() && is_saved) trained = WithSaved(trained, saved, step, context.spec);
  ReportProto report =
      BeginReport("train", context.spec, prepared.plan.model.name, prepared.plan.graph_hash, *prepared.session);
  AddTraining(result, accuracies, report);
  report.set_decode_memory_bytes(prepared.data.decode_bytes);
  if (prepared.target) *report.mutable_target() = prepared.target->ToProto();
  const absl::Status counted = AddTraffic(*prepared.session, kTrainEntry, result.traffic, result.steps_of, report);
  const absl::Status remembered = AddMemory(*prepared.session, report);
  absl::StatusOr<std::vector<RankCommunication>> overlapped{std::vector<RankCommunication>()};
  if (communication) overlapped = communication->Job();
  if (overlapped.ok()) AddCommunication(*overlapped, report);
  const absl::Status compared = graded ? graded->AddTo(report) : absl::OkStatus();
  report.set_outcome(OutcomeOf(trained.ok() ? saved : trained, result.stopped_by != 0));
  if (speaks) RETURN_IF_ERROR(SaveReport(report, context.spec));
  RETURN_IF_ERROR(trained);
  RETURN_IF_ERROR(saved);
  RETURN_IF_ERROR(counted);
  RETURN_IF_ERROR(remembered);
  RETURN_IF_ERROR(overlapped.status());
  RETURN_IF_ERROR(compared);
  if (speaks) RETURN_IF_ERROR(KeepHistory(report, context.spec.output().history()));
  if (text && prepared.data.test == nullptr) out << "there is no test set: nothing was evaluated\n";
  PrintReport(report, context.spec, out);
  if (text) SayWhatWasSaved(context, out);
  if (speaks && prepared.target) RETURN_IF_ERROR(prepared.target->SaveCurve());
  return result.stopped_by != 0 ? ExitCodeOfSignal(result.stopped_by) : kExitFinished;
}

}  // namespace

Command TrainCommand() {
  Command command{"train", "train a graph on a data set", "GRAPH", Runs<RunSpec>(RunTrain)};
  command.choices = {{"format", {"text", "json"}}};
  return command;
}

}  // namespace partita
