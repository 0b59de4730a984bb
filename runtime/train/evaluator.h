// Loss and accuracy over a whole set.
#ifndef PARTITA_RUNTIME_TRAIN_EVALUATOR_H_
#define PARTITA_RUNTIME_TRAIN_EVALUATOR_H_

#include <atomic>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "runtime/api/session.h"
#include "runtime/data/batch_source.h"
#include "runtime/train/image_inputs.h"

namespace partita {

struct Evaluation {
  double loss = 0;
  double accuracy = 0;  // 0 if the graph has no such metric
  double seconds = 0;
};

// Collective. Every sample of `source` (of BatchMode::kEvaluation) counts exactly once, whatever the batch. Empty if
// `*stop` (may be null) became non-zero before the end. kOutOfRange: the loss is not finite. kInternal: the
// communicators counted other bytes than the layouts predict.
absl::StatusOr<std::optional<Evaluation>> EvaluateSet(Session& session, const ImageInputs& inputs,
                                                      std::shared_ptr<const BatchSource> source,
                                                      const std::atomic<int>* stop);

// Collective. kInternal unless the bytes since the last ResetCounters are those of `steps` steps of `entry`, group by
// group.
absl::Status CheckTraffic(const Session& session, const std::string& entry, int64_t steps);

// The metric of that name; 0 if there is none.
double MetricOf(const StepResult& result, const std::string& name);

}  // namespace partita

#endif  // PARTITA_RUNTIME_TRAIN_EVALUATOR_H_
