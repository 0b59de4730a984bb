// The target of a training on the test set, and the epoch that reached it: how many epochs a batch needs.
#ifndef PARTITA_RUN_TRAIN_TRAINING_TARGET_H_
#define PARTITA_RUN_TRAIN_TRAINING_TARGET_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/ir/model.h"
#include "partitioner/cost/time_to_accuracy.h"
#include "proto/report.pb.h"
#include "proto/run.pb.h"
#include "runtime/train/trainer.h"

namespace partita {

// Thread-compatible.
class TrainingTarget {
 public:
  // None where no flag says what to reach. FlagError: flags that contradict each other; the graph has no accuracy, the
  // data no test set. kInvalidArgument: the file of --save-curve is there and no curve, or is one of another target or
  // data, or has a point for this batch. `data` has a training set.
  static absl::StatusOr<std::optional<TrainingTarget>> Read(const RunSpec& spec, const Model& model,
                                                            const TrainingData& data);

  // Whether the evaluation meets it, so that training may end.
  bool Take(int64_t step, const Evaluation& evaluation);

  // As far as training has come.
  ReportTargetProto ToProto() const;
  // Adds the point to the file, if there is one and the target was met. For one process of a job; other jobs may add
  // theirs at the same time.
  absl::Status SaveCurve() const;

 private:
  TrainingTarget() = default;

  double Epochs(int64_t step) const { return static_cast<double>(step) / static_cast<double>(per_epoch_); }
  std::string CurveName() const;
  absl::StatusOr<EpochCurve> ReadCurve() const;

  std::string model_, metric_;  // metric: "loss", or an accuracy's name
  bool of_loss_ = false;
  double wanted_ = 0;
  int64_t batch_ = 0, per_epoch_ = 0;  // rows; steps
  int64_t samples_ = 0;                // of an epoch
  std::string path_;                   // of the curve; empty: there is none
  std::optional<double> best_;         // of all evaluations
  std::optional<int64_t> met_step_;
};

}  // namespace partita

#endif  // PARTITA_RUN_TRAIN_TRAINING_TARGET_H_
