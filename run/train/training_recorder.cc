#include "run/train/training_recorder.h"

#include <utility>

#include "run/host/log.h"
#include "run/train/metric_lines.h"
#include "run/train/writable_folder.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// TensorBoard shows tags with the same beginning side by side: "accuracy/train" and "accuracy/test".
Scalars ScalarsOf(double loss, const Metrics& metrics, const std::string& set) {
  Scalars scalars = {{"loss/" + set, loss}};
  for (const auto& [name, value] : metrics) scalars.emplace_back(name + "/" + set, value);
  return scalars;
}

}  // namespace

absl::Status TrainingRecorder::CheckFlags(const RunSpec& spec) {
  if (!spec.output().has_tensorboard()) return absl::OkStatus();
  return CheckWritableFolder("tensorboard", spec.output().tensorboard());
}

absl::StatusOr<std::unique_ptr<TrainingRecorder>> TrainingRecorder::Open(const RunSpec& spec, const Session& session,
                                                                         int64_t first_step, OnLine on_line) {
  const OutputSpec& output = spec.output();
  const bool records = output.has_metrics() || output.has_tensorboard() || on_line;
  if (!records || session.local_ranks().front() != 0) return nullptr;
  std::unique_ptr<TrainingRecorder> recorder(new TrainingRecorder(output.metrics_every(), std::move(on_line)));
  if (output.has_metrics()) {
    ASSIGN_OR_RETURN(recorder->lines_, AppendedFile::Open(output.metrics()));
  }
  if (output.has_tensorboard()) {
    ASSIGN_OR_RETURN(recorder->events_, EventFile::Create(output.tensorboard(), first_step));
  }
  return recorder;
}

void TrainingRecorder::Watch(TrainingOptions& options) {
  options.report_every = every_;
  options.on_report = [this](const Progress& progress) { AddStep(progress); };
  options.on_epoch = [this, then = std::move(options.on_epoch)](const EpochResult& epoch) {
    AddLine(EpochLine(epoch));
    then(epoch);
  };
  options.on_skip = [this, then = std::move(options.on_skip)](int64_t step, const absl::Status& why) {
    AddLine(SkipLine(step, why));
    then(step, why);
  };
}

void TrainingRecorder::AddStep(const Progress& progress) {
  AddLine(StepLine(progress));
  Scalars scalars = ScalarsOf(progress.loss, progress.metrics, "train");
  scalars.emplace_back("learning_rate", progress.learning_rate);
  if (progress.gradient_norm) scalars.emplace_back("gradient_norm", *progress.gradient_norm);
  scalars.emplace_back("samples_per_second", progress.samples_per_s);
  AddScalars(progress.step, scalars);
}

void TrainingRecorder::AddEvaluation(int64_t step, double epoch, const Evaluation& evaluation) {
  AddLine(EvaluationLine(step, epoch, evaluation));
  AddScalars(step, ScalarsOf(evaluation.loss, evaluation.metrics, "test"));
}

void TrainingRecorder::AddLine(const std::string& line) {
  if (on_line_) on_line_(line);
  if (!lines_) return;
  const absl::Status added = lines_->AppendLine(line);
  if (added.ok() || warned_of_lines_) return;
  warned_of_lines_ = true;
  Warn("{}; training goes on, and some of its metrics are missing there", std::string(added.message()));
}

void TrainingRecorder::AddScalars(int64_t step, const Scalars& scalars) {
  if (!events_) return;
  const absl::Status added = events_->Add(step, scalars);
  if (added.ok()) return;
  events_.reset();
  Warn("{}; training goes on, and TensorBoard sees no more of it", std::string(added.message()));
}

}  // namespace partita
