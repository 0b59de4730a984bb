#include "run/train/training_recorder.h"

#include "run/host/log.h"
#include "run/train/metric_lines.h"
#include "runtime/base/status.h"

namespace partita {

absl::StatusOr<std::unique_ptr<TrainingRecorder>> TrainingRecorder::Open(const RunSpec& spec, const Session& session) {
  if (!spec.output().has_metrics() || session.local_ranks().front() != 0) return nullptr;
  ASSIGN_OR_RETURN(AppendedFile file, AppendedFile::Open(spec.output().metrics()));
  return std::unique_ptr<TrainingRecorder>(new TrainingRecorder(std::move(file), spec.output().metrics_every()));
}

void TrainingRecorder::Watch(TrainingOptions& options) {
  options.report_every = every_;
  options.on_report = [this](const Progress& progress) { Add(StepLine(progress)); };
  options.on_epoch = [this, then = std::move(options.on_epoch)](const EpochResult& epoch) {
    Add(EpochLine(epoch));
    then(epoch);
  };
  options.on_skip = [this, then = std::move(options.on_skip)](int64_t step, const absl::Status& why) {
    Add(SkipLine(step, why));
    then(step, why);
  };
}

void TrainingRecorder::AddEvaluation(int64_t step, double epoch, const Evaluation& evaluation) {
  Add(EvaluationLine(step, epoch, evaluation));
}

void TrainingRecorder::Add(const std::string& line) {
  const absl::Status added = file_.AppendLine(line);
  if (added.ok() || warned_) return;
  warned_ = true;
  Warn("{}; training goes on, and some of its metrics are missing there", std::string(added.message()));
}

}  // namespace partita
