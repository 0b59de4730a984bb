// Computes loss and metrics over a whole set.
#ifndef PARTITA_RUNTIME_TRAIN_EVALUATOR_H_
#define PARTITA_RUNTIME_TRAIN_EVALUATOR_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/sets/set_results.h"
#include "runtime/api/session.h"
#include "runtime/data/batch_source.h"
#include "runtime/train/metrics.h"

namespace partita {

// Steps by the name of their entry point.
using EntrySteps = std::map<std::string, int64_t>;

struct Evaluation {
  double loss = 0;
  Metrics metrics;  // if the loss is a mean over words (BatchSource::word_weights), the last one is the perplexity
  double seconds = 0;
  EntrySteps steps = {};
};

// Takes what a batch of evaluation reports beside scalars (StepResult::values). The first `samples` rows are those of
// the set from `first` on, in the order of the walk; others only fill the batch up. An error ends the evaluation: all
// processes must return alike.
using TakeValues = std::function<absl::Status(int64_t first, int64_t samples, const std::vector<HostTensor>& values)>;

// Collective. Loss and metrics of the whole set `source` (of BatchMode::kEvaluation), by the terms of `results`: each
// is what the graph would compute for the set as one batch; a sum without a divisor is the total over the set. A result
// with an undecided term is the mean over batches, weighted by their samples. Empty if `*stop` (may be null) became
// non-zero before the end. kInvalidArgument: CheckLastBatch. kOutOfRange: a loss of the set is not finite. kInternal:
// the counted bytes differ from the predicted ones.
absl::StatusOr<std::optional<Evaluation>> EvaluateSet(Session& session, const SetResults& results,
                                                      std::shared_ptr<const BatchSource> source,
                                                      const std::atomic<int>* stop,
                                                      const TakeValues& take_values = nullptr);

// kInvalidArgument: the last batch of `source` has padding rows or places, and a result of the evaluation entry point
// would count them, because it does not weigh them or its samples influence each other. The error names the node.
absl::Status CheckLastBatch(const EntryPoint& entry, const SetResults& results, const BatchSource& source);

// Collective. kInternal unless the bytes since the last ResetCounters are those of this number of steps, group by
// group.
absl::Status CheckTraffic(const Session& session, const EntrySteps& steps);
// The bytes that the layouts predict for these steps.
std::vector<MoveBytes> PredictedBytes(const Session& session, const EntrySteps& steps);

}  // namespace partita

#endif  // PARTITA_RUNTIME_TRAIN_EVALUATOR_H_
