// Loss and metrics over a whole set.
#ifndef PARTITA_RUNTIME_TRAIN_EVALUATOR_H_
#define PARTITA_RUNTIME_TRAIN_EVALUATOR_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/api/session.h"
#include "runtime/data/batch_source.h"
#include "runtime/train/metrics.h"

namespace partita {

// Steps by the name of their entry point.
using EntrySteps = std::map<std::string, int64_t>;

struct Evaluation {
  double loss = 0;
  Metrics metrics;  // of words (BatchSource::of_words) the perplexity is the last one
  double seconds = 0;
  EntrySteps steps = {};
};

// Collective. The mean over the samples of `source` (of BatchMode::kEvaluation), each of them standing for what its
// batch has (BatchSource::share): so every sample counts once in terms that are means over samples, of words every
// word, whatever the batch, and a term of the loss that is none of these (the norm of a weight) is what it is in each
// batch. Empty if `*stop` (may be null) became non-zero before the end. kInvalidArgument: CheckLastBatch. kOutOfRange:
// the loss is not finite. kInternal: the communicators counted other bytes than the layouts predict.
absl::StatusOr<std::optional<Evaluation>> EvaluateSet(Session& session, std::shared_ptr<const BatchSource> source,
                                                      const std::atomic<int>* stop);

// kInvalidArgument: the last batch of `source` has rows that are no samples, and nothing in the program's evaluation
// reads what a row weighs, so that they would count.
absl::Status CheckLastBatch(const Program& program, const BatchSource& source);

// Collective. kInternal unless the bytes since the last ResetCounters are those of so many steps, group by group.
absl::Status CheckTraffic(const Session& session, const EntrySteps& steps);
// What the layouts predict of them.
std::vector<MoveBytes> PredictedBytes(const Session& session, const EntrySteps& steps);

}  // namespace partita

#endif  // PARTITA_RUNTIME_TRAIN_EVALUATOR_H_
