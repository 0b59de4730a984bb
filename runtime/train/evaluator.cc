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
  const bool weighed = source.of_words() || (entry != nullptr && entry->FindInput(kSampleWeightName) != nullptr);
  if (entry == nullptr || samples % rows == 0 || weighed) return absl::OkStatus();
  return InvalidArgument(
      "the test set has {} samples, which are no whole batches of {}; the graph's loss and metrics do not weigh "
      "samples, so a batch that is not full cannot be evaluated (choose another --batch)",
      samples, rows);
}

std::vector<MoveBytes> PredictedBytes(const Session& session, const EntrySteps& steps) {
  std::vector<MoveBytes> bytes(session.program().groups.size());
  for (const auto& [entry, count] : steps) {
    const std::vector<MoveBytes> of_step = session.PredictedBytes(entry);
    for (size_t g = 0; g < bytes.size(); ++g) bytes[g] += {of_step[g].payload * count, of_step[g].wire * count};
  }
  return bytes;
}

absl::Status CheckTraffic(const Session& session, const EntrySteps& steps) {
  const std::vector<MoveBytes> predicted = PredictedBytes(session, steps);
  ASSIGN_OR_RETURN(const std::vector<GroupTraffic> counted, session.JobTraffic());
  for (size_t g = 0; g < predicted.size(); ++g) {
    if (counted[g].bytes == predicted[g]) continue;
    int64_t all = 0;
    for (const auto& [entry, count] : steps) all += count;
    return Internal("group {}: {} steps moved {} bytes ({} on the wire), predicted are {} ({})",
                    ToString(session.program().groups[g], session.program().meshes), all, counted[g].bytes.payload,
                    counted[g].bytes.wire, predicted[g].payload, predicted[g].wire);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<Evaluation>> EvaluateSet(Session& session, std::shared_ptr<const BatchSource> source,
                                                      const std::atomic<int>* stop) {
  RETURN_IF_ERROR(CheckLastBatch(session.program(), *source));
  const auto start = std::chrono::steady_clock::now();
  session.ResetCounters();
  Evaluation mean;
  const auto take = [&](const WalkedBatch& batch) -> absl::Status {
    ASSIGN_OR_RETURN(const StepResult result, session.Finish());
    ++mean.steps[batch.entry];
    const double share = source->share(batch.number);
    mean.loss += share * result.loss;
    AddShare(result.metrics, share, mean.metrics);
    return absl::OkStatus();
  };
  ASSIGN_OR_RETURN(const bool whole, WalkSet(session, kEvaluateEntry, source, stop, take));
  if (!whole) return std::nullopt;
  if (source->of_words()) mean.metrics.emplace_back("perplexity", std::exp(mean.loss));
  RETURN_IF_ERROR(CheckTraffic(session, mean.steps));
  mean.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return mean;
}

}  // namespace partita
