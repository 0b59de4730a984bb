#include "runtime/train/evaluator.h"

#include <chrono>
#include <cmath>

#include "graph/ir/generated_name.h"
#include "runtime/base/status.h"
#include "runtime/train/set_walk.h"

namespace partita {

absl::Status CheckLastBatch(const Program& program, const BatchSource& source) {
  const EntryPoint* const entry = program.Find(kEvaluateEntry);
  const int64_t samples = source.samples(), rows = source.batch_rows();
  if (entry == nullptr || samples % rows == 0 || entry->FindInput(kSampleWeightName) != nullptr) {
    return absl::OkStatus();
  }
  return InvalidArgument(
      "the test set has {} samples, which are no whole batches of {}; the graph's loss and metrics do not weigh "
      "samples, so a batch that is not full cannot be evaluated (choose another --batch)",
      samples, rows);
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

absl::StatusOr<std::optional<Evaluation>> EvaluateSet(Session& session, std::shared_ptr<const BatchSource> source,
                                                      const std::atomic<int>* stop) {
  RETURN_IF_ERROR(CheckLastBatch(session.program(), *source));
  const auto start = std::chrono::steady_clock::now();
  session.ResetCounters();
  Evaluation mean;
  const auto take = [&](int64_t samples) -> absl::Status {
    ASSIGN_OR_RETURN(const StepResult result, session.Finish());
    const double share = static_cast<double>(samples) / static_cast<double>(source->samples());
    mean.loss += share * result.loss;
    AddShare(result.metrics, share, mean.metrics);
    return absl::OkStatus();
  };
  ASSIGN_OR_RETURN(const bool whole, WalkSet(session, kEvaluateEntry, source, stop, take));
  if (!whole) return std::nullopt;
  if (source->of_words()) mean.metrics.emplace_back("perplexity", std::exp(mean.loss));
  RETURN_IF_ERROR(CheckTraffic(session, kEvaluateEntry, source->batches_per_epoch()));
  mean.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return mean;
}

}  // namespace partita
