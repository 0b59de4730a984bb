// A training run: everything decided and started, then its steps with what is written meanwhile.
#ifndef PARTITA_RUN_TRAIN_TRAINING_RUN_H_
#define PARTITA_RUN_TRAIN_TRAINING_RUN_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/ir/model.h"
#include "proto/run.pb.h"
#include "run/beginning/resumed_checkpoint.h"
#include "run/job/join_job.h"
#include "run/start.h"
#include "run/train/checkpointer.h"
#include "run/train/model_saver.h"
#include "run/train/patience.h"
#include "run/train/plateau.h"
#include "run/train/training_end.h"
#include "run/train/training_recorder.h"
#include "run/train/training_target.h"
#include "runtime/api/session.h"
#include "runtime/train/model_record.h"
#include "runtime/train/trainer.h"

namespace partita {

// Thread-compatible.
class TrainingRun {
 public:
  // Everything that can be rejected is rejected here, before anything is written; in a job all processes call it.
  // `model`: instead of the file that the spec names. `predictions`: values that the session can also predict.
  static absl::StatusOr<std::unique_ptr<TrainingRun>> Prepare(const RunSpec& spec, std::optional<Model> model,
                                                              const Joining& joining,
                                                              const std::vector<std::string>& predictions = {});

  const RunPlan& plan() const { return plan_; }
  const TrainingData& data() const { return data_; }
  Session& session() const { return *session_; }
  const std::optional<TrainingTarget>& target() const { return target_; }
  // Where a run resumes that does not begin at step 0; and what its user should know, such as what has changed since.
  const std::optional<std::string>& resumed() const { return resumed_; }
  const std::vector<std::string>& warnings() const { return warnings_; }
  int64_t planned_steps() const { return PlannedSteps(options_, data_.training->batches_per_epoch()); }
  // What a file of the model says now.
  ModelRecord record() const;
  // Callbacks and `stop` are the caller's to set before Train.
  TrainingOptions& options() { return options_; }
  // Likewise: `on_line` gets each line of metric_lines.h, in the process of rank 0.
  void Listen(OnLine on_line) { on_line_ = std::move(on_line); }

  // To the end of the run, or until `stop`; called again, from there on. An error says that training could not begin.
  // `say`: a line for each evaluation within an epoch.
  absl::StatusOr<TrainingEnd> Train(const BeginWriting& begin_writing,
                                    const std::function<void(const std::string&)>& say);

 private:
  explicit TrainingRun(const RunSpec& spec) : spec_(spec) {}
  absl::Status BeginWhere(const Beginning& beginning);
  absl::Status Start(std::optional<LoadedModel> loaded, const std::optional<ResumedCheckpoint>& resumed,
                     const Joining& joining, const std::vector<std::string>& predictions);
  // What the caller's options do besides: each evaluation is said and recorded, and may end training.
  TrainingOptions WatchedOptions(const std::function<void(const std::string&)>& say);
  bool IsEnough(int64_t step, const Evaluation& evaluation, const std::function<void(const std::string&)>& say);
  absl::Status WithSaved(const absl::Status& trained, const absl::Status& saved, int64_t step) const;

  const RunSpec spec_;
  RunPlan plan_;
  TrainingData data_;
  TrainingOptions options_;
  ModelRecord record_;  // where training begins
  std::optional<std::string> resumed_;
  std::vector<std::string> warnings_;
  std::optional<TrainingTarget> target_;
  std::optional<Patience> patience_;
  std::optional<Plateau> plateau_;
  std::shared_ptr<FlightKeeper> flight_;
  std::unique_ptr<Session> session_;
  OnLine on_line_;
  std::unique_ptr<TrainingRecorder>
      recorder_;  // null: there is nothing to record. This and the next since the first Train
  std::unique_ptr<ModelSaver> saver_;
  std::unique_ptr<Checkpointer> checkpointer_;
};

}  // namespace partita

#endif  // PARTITA_RUN_TRAIN_TRAINING_RUN_H_
