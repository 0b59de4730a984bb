#include "runtime/train/evaluator.h"

#include <chrono>

#include "runtime/base/status.h"
#include "runtime/train/set_walk.h"

namespace partita {

std::optional<double> MetricOf(const StepResult& result, const std::string& name) {
  for (const auto& [metric, value] : result.metrics) {
    if (metric == name) return value;
  }
  return std::nullopt;
}

absl::Status CheckTraffic(const Session& session, const std::string& entry, int64_t steps) {
  const std::vector<MoveBytes> predicted = session.PredictedBytes(entry);
  ASSIGN_OR_RETURN(const std::vector<GroupTraffic> counted, session.JobTraffic());
  for (size_t g = 0; g < predicted.size(); ++g) {
    const MoveBytes expected{predicted[g].payload * steps, predicted[g].wire * steps};
    if (counted[g].bytes == expected) continue;
    return Internal("group {}: {} steps moved {} bytes ({} on the wire), predicted are {} ({})",
                    ToString(session.program().groups[g], session.program().meshes), steps, counted[g].bytes.payload,
                    counted[g].bytes.wire, expected.payload, expected.wire);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<Evaluation>> EvaluateSet(Session& session, const ImageInputs& inputs,
                                                      std::shared_ptr<const BatchSource> source,
                                                      const std::atomic<int>* stop) {
  const auto start = std::chrono::steady_clock::now();
  session.ResetCounters();
  Evaluation mean;
  const auto take = [&](int64_t samples) -> absl::Status {
    ASSIGN_OR_RETURN(const StepResult result, session.Finish());
    const double share = static_cast<double>(samples) / static_cast<double>(source->samples());
    mean.loss += share * result.loss;
    if (const auto accuracy = MetricOf(result, inputs.accuracy)) {
      mean.accuracy = mean.accuracy.value_or(0) + share * *accuracy;
    }
    return absl::OkStatus();
  };
  ASSIGN_OR_RETURN(const bool whole, WalkSet(session, kEvaluateEntry, source, stop, take));
  if (!whole) return std::nullopt;
  RETURN_IF_ERROR(CheckTraffic(session, kEvaluateEntry, source->batches_per_epoch()));
  mean.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return mean;
}

}  // namespace partita
