#include "run/train/training_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "graph/proto_io/proto_io_message.h"
#include "partitioner/proto_io/epoch_curve_io.h"
#include "run/host/host.h"
#include "run/spec/spec_error.h"
#include "run/train/folder_turn.h"
#include "runtime/base/files.h"
#include "runtime/base/number.h"
#include "runtime/base/status.h"

namespace partita {
absl::StatusOr<std::optional<TrainingTarget>> TrainingTarget::Read(const RunSpec& spec, const Model& model,
                                                                   const TrainingData& data) {
  TrainingTarget target;
  target.of_loss_ = spec.train().has_until_loss();
  if (!target.of_loss_ && !spec.train().has_until_accuracy()) return std::nullopt;
  const std::string flag = target.of_loss_ ? "until-loss" : "until-accuracy";
  if (data.test == nullptr) return FlagError("flag --{} is of a test set, and the data has none", flag);
  const std::vector<std::string> accuracies = AccuraciesOf(model.graph);
  if (!target.of_loss_ && accuracies.empty()) {
    return FlagError("flag --until-accuracy is given, and graph '{}' names no accuracy; --until-loss is of its loss",
                     model.name);
  }
  target.model_ = model.name;
  target.metric_ = target.of_loss_ ? "loss" : accuracies[0];
  target.wanted_ = target.of_loss_ ? spec.train().until_loss() : spec.train().until_accuracy();
  target.batch_ = data.training->batch_rows();
  target.per_epoch_ = data.training->batches_per_epoch();
  target.samples_ = data.training->samples();
  target.path_ = spec.saving().save_curve();
  if (target.path_.empty()) return target;
  ASSIGN_OR_RETURN(const EpochCurve curve, target.ReadCurve());
  for (const EpochPoint& point : curve.points) {
    if (point.batch != target.batch_) continue;
    return InvalidArgument("{}: it has a point for a batch of {} already: {}", target.path_, point.batch,
                           Counted(point.epochs, "epoch"));
  }
  return target;
}

bool TrainingTarget::Take(int64_t step, const Evaluation& evaluation) {
  const double value = of_loss_ ? evaluation.loss : MetricOf(evaluation.metrics, metric_).value_or(0);
  const auto better = [this](double a, double b) { return of_loss_ ? a < b : a > b; };
  if (!best_ || better(value, *best_)) best_ = value;
  if (better(wanted_, value)) return false;
  met_step_ = step;
  return true;
}

ReportTargetProto TrainingTarget::ToProto() const {
  ReportTargetProto proto;
  proto.set_metric(metric_);
  proto.set_wanted(wanted_);
  if (best_) proto.set_best(*best_);
  proto.set_batch(batch_);
  if (!met_step_) return proto;
  proto.set_epochs(Epochs(*met_step_));
  proto.set_steps(*met_step_);
  return proto;
}

absl::Status TrainingTarget::SaveCurve() const {
  if (path_.empty() || !met_step_) return absl::OkStatus();
  ASSIGN_OR_RETURN(const FolderTurn turn, FolderTurn::Wait(path_));  // runs of other batches may end now, too
  ASSIGN_OR_RETURN(EpochCurve curve, ReadCurve());
  curve.samples = std::max(curve.samples, samples_);
  const EpochPoint point{batch_, Epochs(*met_step_)};
  if (const absl::Status added = AddPoint(point, curve); !added.ok()) {
    return InvalidArgument("{}: batch {}, {} was not added: {}", path_, point.batch, Counted(point.epochs, "epoch"),
                           std::string(added.message()));
  }
  ASSIGN_OR_RETURN(const ProtoFormat format, FormatOf(path_));
  return WriteFileAtomically(path_, PrintEpochCurve(curve, format));
}

std::string TrainingTarget::CurveName() const { return fmt::format("{} to a test {} of {}", model_, metric_, wanted_); }

// One without points where there is no such file. Of an epoch as many samples are counted as make whole batches, so
// that a set has less than a batch more of them.
absl::StatusOr<EpochCurve> TrainingTarget::ReadCurve() const {
  if (!std::filesystem::exists(path_)) {
    return EpochCurve{CurveName(), {}, fmt::format("trainer train, on {}", ThisHost().processor), samples_};
  }
  ASSIGN_OR_RETURN(EpochCurve curve, LoadEpochCurve(path_));
  if (curve.name != CurveName()) {
    return InvalidArgument("{} is a curve of '{}', not of '{}'; one file is of one target", path_, curve.name,
                           CurveName());
  }
  const int64_t largest = curve.points.back().batch;
  if (curve.samples >= samples_ + batch_ || samples_ >= curve.samples + largest) {
    return InvalidArgument("{} is a curve of {} samples an epoch, and here one has {}; one file is of one set", path_,
                           curve.samples, samples_);
  }
  return curve;
}

}  // namespace partita
