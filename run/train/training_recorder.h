// Records a training run while it lasts: --metrics, --tensorboard, and what else listens.
#ifndef PARTITA_RUN_TRAIN_TRAINING_RECORDER_H_
#define PARTITA_RUN_TRAIN_TRAINING_RECORDER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/run.pb.h"
#include "runtime/api/session.h"
#include "runtime/telemetry/appended_file.h"
#include "runtime/telemetry/event_file.h"
#include "runtime/train/trainer.h"

namespace partita {

using OnLine = std::function<void(const std::string& line)>;

// What cannot be written is warned of once, and does not end the run. Later lines are tried again; a file of
// TensorBoard ends there.
class TrainingRecorder {
 public:
  // FlagError: a folder that cannot be written to.
  static absl::Status CheckFlags(const RunSpec& spec);

  // For a run that begins behind `first_step` steps. `on_line`, which may be empty, gets the lines of --metrics. Null:
  // nothing asks for it, or another process of the job has rank 0. kInvalidArgument: a file cannot be opened.
  static absl::StatusOr<std::unique_ptr<TrainingRecorder>> Open(const RunSpec& spec, const Session& session,
                                                                int64_t first_step, OnLine on_line);

  // Each is a line of metric_lines.h.
  void Begin(const std::string& line) { AddLine(line); }
  void End(const std::string& line) { AddLine(line); }

  // Records steps, epochs and skipped steps, besides what the options do with them. Must outlive them.
  void Watch(TrainingOptions& options);
  void AddEvaluation(int64_t step, double epoch, const Evaluation& evaluation);

 private:
  TrainingRecorder(int64_t every, OnLine on_line) : every_(every), on_line_(std::move(on_line)) {}
  void AddStep(const Progress& progress);
  void AddLine(const std::string& line);
  void AddScalars(int64_t step, const Scalars& scalars);

  const int64_t every_;  // steps
  const OnLine on_line_;
  std::optional<AppendedFile> lines_;  // of --metrics
  bool warned_of_lines_ = false;
  std::optional<EventFile> events_;  // of --tensorboard
};

}  // namespace partita

#endif  // PARTITA_RUN_TRAIN_TRAINING_RECORDER_H_
