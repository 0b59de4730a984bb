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
  std::optional<double> accuracy;  // none if the graph has no such metric
  double seconds = 0;
};

// Collective. The mean over the samples of `source` (of BatchMode::kEvaluation), each of them standing for what its
// batch has: so every sample counts once in terms that are means over samples, whatever the batch, and a term of the
// loss that is none of these (the norm of a weight) is what it is in each batch. Empty if `*stop` (may be null) became
// non-zero before the end. kOutOfRange: the loss is not finite. kInternal: the communicators counted other bytes than
// the layouts predict.
absl::StatusOr<std::optional<Evaluation>> EvaluateSet(Session& session, const ImageInputs& inputs,
                                                      std::shared_ptr<const BatchSource> source,
                                                      const std::atomic<int>* stop);

// Collective. kInternal unless the bytes since the last ResetCounters are those of `steps` steps of `entry`, group by
// group.
absl::Status CheckTraffic(const Session& session, const std::string& entry, int64_t steps);

// The metric of that name, if there is one.
std::optional<double> MetricOf(const StepResult& result, const std::string& name);

}  // namespace partita

#endif  // PARTITA_RUNTIME_TRAIN_EVALUATOR_H_
