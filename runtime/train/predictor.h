// Computes a program's predictions for every sample of a set.
#ifndef PARTITA_RUNTIME_TRAIN_PREDICTOR_H_
#define PARTITA_RUNTIME_TRAIN_PREDICTOR_H_

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/api/session.h"
#include "runtime/data/batch_source.h"

namespace partita {

// The predicted values of all samples, in the set's order: each a tensor whose first dimension is the samples.
using Predictions = std::vector<HostTensor>;

// Collective. `source` is of BatchMode::kEvaluation; padding rows are dropped, and empty samples have zeros. Empty if
// `*stop` (may be null) became non-zero before the end. kInvalidArgument: the program has no entry point `predict`, a
// value has not the batch's rows in its first dimension, or the source does not fill an input or has buckets.
absl::StatusOr<std::optional<Predictions>> PredictSet(Session& session, std::shared_ptr<const BatchSource> source,
                                                      const std::atomic<int>* stop);

}  // namespace partita

#endif  // PARTITA_RUNTIME_TRAIN_PREDICTOR_H_
