// `trainer train`: from a graph, a strategy and a data set to parameters.
#include <spdlog/spdlog.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "partitioner/choose/ranked_finalists.h"
#include "run/pictures/memory_limit.h"
#include "run/plan_report/strategy_file.h"
#include "run/plan_report/timeline.h"
#include "run/train/training_run.h"
#include "runtime/api/communication_meter.h"
#include "runtime/base/number.h"
#include "runtime/telemetry/progress_bar.h"
#include "runtime/train/metrics.h"
#include "runtime/train/trainer.h"
#include "tools/commands/commands.h"
#include "tools/commands/oracle/graded_training.h"
#include "tools/commands/output/report.h"
#include "tools/commands/processes/finish_writing.h"
#include "tools/commands/processes/processes.h"
#include "tools/commands/processes/signals.h"
#include "tools/commands/run_page/run_page.h"
#include "tools/program/exit_code.h"

namespace partita {
namespace {

// Between two looks of the progress bar; lines of the log are further apart.
constexpr double kBarSeconds = 0.25;

// Steps that are not held against predictions: they touch memory and load kernels for the first time.
constexpr int64_t kWarmUp = 3;

absl::Status SayChoice(const RunSpec& spec, const ChosenStrategy& chosen, bool text, std::ostream& out) {
  if (text && Searches(spec)) out << FormatFinalists(chosen.finalists) << std::endl;
  if (!spec.split().has_save_strategy()) return absl::OkStatus();
  return SaveFoundStrategy(chosen.strategy, chosen.finalists, spec.split().save_strategy());
}

// Which of --epochs and --steps ends the run, where both are given.
void SayEnd(TrainingRun& run, std::ostream& out) {
  const int64_t epochs = run.options().epochs, steps = run.options().steps;
  if (epochs == 0 || steps == 0) return;
  const int64_t of_epochs = epochs * run.data().training->batches_per_epoch();
  if (of_epochs == steps) return;
  out << fmt::format("training ends after {}: --{} comes before --{}\n", Counted(std::min(of_epochs, steps), "step"),
                     of_epochs < steps ? fmt::format("epochs={}", epochs) : fmt::format("steps={}", steps),
                     of_epochs < steps ? fmt::format("steps={}", steps) : fmt::format("epochs={}", epochs));
}

void SayBeginning(const TrainingRun& run, bool text, std::ostream& out) {
  if (text && run.resumed()) out << *run.resumed() << std::endl;
  if (!Speaks(run.session())) return;
  for (const std::string& warning : run.warnings()) spdlog::warn("{}", warning);
}

// Where the parameters are at the end, and how to use them.
std::vector<std::string> HowToUse(const RunSpec& spec) {
  std::vector<std::string> lines;
  if (spec.saving().has_save()) {
    const std::string& file = spec.saving().save();
    lines.push_back(fmt::format("saved           {}: train, evaluate and predict read it by --load={}", file, file));
  }
  if (spec.saving().has_save_best()) {
    lines.push_back(fmt::format("saved           {}: the best of all epochs", spec.saving().save_best()));
  }
  if (spec.saving().has_save_adapter()) {
    const std::string& folder = spec.saving().save_adapter();
    lines.push_back(
        fmt::format("saved           {}: the adapters, which --load-adapter={} reads, and PEFT", folder, folder));
  }
  if (spec.checkpoints().has_checkpoint()) {
    const std::string& folder = spec.checkpoints().checkpoint();
    lines.push_back(
        fmt::format("checkpoints     {}: train --checkpoint={} --resume=auto resumes from the newest", folder, folder));
  }
  if (lines.empty()) {
    lines.push_back("saved           nothing: --save=FILE keeps the parameters, --checkpoint=FOLDER the whole run");
  }
  return lines;
}

// Follows the run, if --page asks for it. Null: it does not, or another process of the job speaks.
std::unique_ptr<RunPage> OpenPage(const RunSpec& spec, TrainingRun& run, const std::optional<GradedTraining>& graded) {
  Session& session = run.session();
  if (!spec.output().has_page() || !Speaks(session)) return nullptr;
  if (session.gpu_name().empty()) session.RecordTimeline(true);
  RunFacts facts{BeginReport("train", spec, run.plan().model.name, run.plan().graph_hash, session),
                 MemoryLimitOf(spec, run.plan().machine), HowToUse(spec)};
  AddPlanned(session, facts.report);
  if (graded) graded->AddPredicted(facts.report);
  auto page = std::make_unique<RunPage>(spec.output().page(), std::move(facts));
  const int64_t first_step = run.options().first_step;
  if (first_step > 0 && spec.output().has_metrics()) page->AddEarlier(spec.output().metrics(), first_step);
  run.Listen([page = page.get()](const std::string& line) { page->Add(line); });
  return page;
}

// The pictures of a step are those of a session that can still run.
void FinishPage(const RunSpec& spec, const TrainingRun& run, const TrainingEnd& end, const ReportProto& report,
                RunPage& page) {
  const bool is_whole = end.is_saved && end.result.steps > 0;
  page.Finish(report, is_whole ? RecordedStepToHtml(run.session(), MemoryLimitOf(spec, run.plan().machine)) : "");
}

absl::StatusOr<int> RunTrain(const ContextOf<RunSpec>& context) {
  const RunSpec& spec = context.spec;
  ASSIGN_OR_RETURN(const std::unique_ptr<TrainingRun> run, TrainingRun::Prepare(spec, std::nullopt, {EndProcess}));
  const StopSignals signals;
  Session& session = run->session();
  RETURN_IF_ERROR(WarnOfAnotherGraph(spec, session));
  const bool speaks = Speaks(session);
  const bool text = spec.output().format() == "text";
  const std::vector<std::string> accuracies = AccuraciesOf(run->plan().model.graph);
  std::ostream& out = speaks ? context.out : Silence();
  TrainingOptions& options = run->options();
  options.stop = &signals.flag();
  const std::string& shown = spec.output().progress();
  ProgressBar bar(PlannedSteps(options, run->data().training->batches_per_epoch()), /*has_curves=*/shown == "curves");
  const bool shows_bar = shown != "lines" && ProgressBar::HasTerminal() && spdlog::should_log(spdlog::level::info) &&
                         spec.output().log_format() == "text";
  if (shows_bar) options.progress_seconds = kBarSeconds;
  options.progress_to_the_end = shows_bar;  // a curve ends where the run does
  options.on_progress = [&](const Progress& progress) {
    if (!speaks) return;
    shows_bar ? bar.Show(progress) : spdlog::info("{}", FormatProgress(progress));
  };
  int64_t skipped = 0;
  options.on_skip = [&](int64_t step, const absl::Status& why) {
    ++skipped;
    if (!speaks) return;
    bar.Clear();
    spdlog::warn("step {} was left out ({} of {}): {}", step, skipped, options.skip_budget, std::string(why.message()));
  };
  options.on_epoch = [&](const EpochResult& epoch) {
    bar.Clear();
    if (text) out << FormatEpoch(epoch, accuracies) << std::endl;
  };
  std::optional<CommunicationMeter> communication;
  if (session.ranks() > 1) communication.emplace(session);  // a rank that is alone has none
  std::optional<GradedTraining> graded;
  if (run->plan().machine) {
    ASSIGN_OR_RETURN(graded, GradedTraining::Begin(session, *run->plan().machine));
  }
  options.on_step = [&, steps = int64_t{0}]() mutable {
    if (communication) communication->AddStep();
    if (graded && ++steps > kWarmUp) graded->AddStep();
  };
  const std::unique_ptr<RunPage> page = OpenPage(spec, *run, graded);
  if (speaks) RETURN_IF_ERROR(SayChoice(spec, run->plan().chosen, text, out));
  SayBeginning(*run, text, out);
  if (text) SayEnd(*run, out);
  ASSIGN_OR_RETURN(TrainingEnd end, run->Train(BeginFinishWriting, [&](const std::string& line) {
    if (!speaks) return;
    bar.Clear();
    spdlog::info("{}", line);
  }));
  bar.Finish();
  if (end.is_saved && end.saved.ok() && spec.output().has_trace() && speaks) {
    end.saved = SaveTimeline(session, spec.output().trace());
  }
  const TrainingResult& result = end.result;
  ReportProto report = BeginReport("train", spec, run->plan().model.name, run->plan().graph_hash, session);
  AddTraining(result, accuracies, report);
  report.set_decode_memory_bytes(run->data().decode_bytes);
  if (run->target()) *report.mutable_target() = run->target()->ToProto();
  const absl::Status counted = AddTraffic(session, kTrainEntry, result.traffic, result.steps_of, report);
  const absl::Status remembered = AddMemory(session, report);
  absl::StatusOr<std::vector<RankCommunication>> overlapped{std::vector<RankCommunication>()};
  if (communication) overlapped = communication->Job();
  if (overlapped.ok()) AddCommunication(*overlapped, report);
  const absl::Status compared = graded ? graded->AddTo(report) : absl::OkStatus();
  report.set_outcome(end.outcome());
  if (end.stopped_early) report.set_stopped_early(*end.stopped_early);
  if (page) FinishPage(spec, *run, end, report, *page);
  if (speaks) RETURN_IF_ERROR(SaveReport(report, spec));
  RETURN_IF_ERROR(end.status());
  RETURN_IF_ERROR(counted);
  RETURN_IF_ERROR(remembered);
  RETURN_IF_ERROR(overlapped.status());
  RETURN_IF_ERROR(compared);
  if (speaks) RETURN_IF_ERROR(KeepHistory(report, spec.output().history()));
  if (text && run->data().test == nullptr) out << "there is no test set: nothing was evaluated\n";
  PrintReport(report, spec, out);
  if (text) {
    for (const std::string& line : HowToUse(spec)) out << line << "\n";
  }
  if (speaks && run->target()) RETURN_IF_ERROR(run->target()->SaveCurve());
  return result.stopped_by != 0 ? ExitCodeOfSignal(result.stopped_by) : kExitFinished;
}

}  // namespace

Command TrainCommand() {
  Command command{"train", "train a graph on a data set", "GRAPH", Runs<RunSpec>(RunTrain)};
  command.choices = {{"format", {"text", "json"}}};
  return command;
}

}  // namespace partita
