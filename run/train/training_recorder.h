// Records a training run while it lasts: --metrics.
#ifndef PARTITA_RUN_TRAIN_TRAINING_RECORDER_H_
#define PARTITA_RUN_TRAIN_TRAINING_RECORDER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/run.pb.h"
#include "runtime/api/session.h"
#include "runtime/telemetry/appended_file.h"
#include "runtime/train/trainer.h"

namespace partita {

// What cannot be written is warned of once, and neither ends the run nor what is written later.
class TrainingRecorder {
 public:
  // Null: no flag asks for it, or another process of the job has rank 0. kInvalidArgument: the file cannot be opened.
  static absl::StatusOr<std::unique_ptr<TrainingRecorder>> Open(const RunSpec& spec, const Session& session);

  // Each is a line of metric_lines.h.
  void Begin(const std::string& line) { Add(line); }
  void End(const std::string& line) { Add(line); }

  // Records steps, epochs and skipped steps, besides what the options do with them. Must outlive them.
  void Watch(TrainingOptions& options);
  void AddEvaluation(int64_t step, double epoch, const Evaluation& evaluation);

 private:
  TrainingRecorder(AppendedFile file, int64_t every) : file_(std::move(file)), every_(every) {}
  void Add(const std::string& line);

  AppendedFile file_;
  const int64_t every_;  // steps
  bool warned_ = false;
};

}  // namespace partita

#endif  // PARTITA_RUN_TRAIN_TRAINING_RECORDER_H_
