#include "runtime/train/evaluator.h"

#include <algorithm>
#include <chrono>

#include "runtime/base/status.h"
#include "runtime/train/batch_feed.h"
#include "runtime/train/stop_vote.h"

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
  const int64_t batches = source->batches_per_epoch();
  ASSIGN_OR_RETURN(const BatchFeed feed, BatchFeed::Create(session, kEvaluateEntry, source));
  ASSIGN_OR_RETURN(const std::unique_ptr<Prefetcher> prefetcher, feed.Prefetch(0, batches));
  session.ResetCounters();
  Evaluation mean;
  const auto stage = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const Batch* const batch, prefetcher->Next());
    feed.Stage(*batch);
    return absl::OkStatus();
  };
  if (batches > 0) RETURN_IF_ERROR(stage());
  for (int64_t b = 0; b < batches; ++b) {
    ASSIGN_OR_RETURN(const int stopped_by, VoteToStop(session, stop));
    if (stopped_by != 0) return std::nullopt;
    const bool last = b + 1 == batches;
    ASSIGN_OR_RETURN(const StepResult result, session.Evaluate(last ? Session::InputFiller() : stage));
    const int64_t samples = std::min(inputs.batch(), source->samples() - b * inputs.batch());
    const double share = static_cast<double>(samples) / static_cast<double>(source->samples());
    mean.loss += share * result.loss;
    if (const auto accuracy = MetricOf(result, inputs.accuracy)) {
      mean.accuracy = mean.accuracy.value_or(0) + share * *accuracy;
    }
  }
  RETURN_IF_ERROR(CheckTraffic(session, kEvaluateEntry, batches));
  mean.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return mean;
}

}  // namespace partita
