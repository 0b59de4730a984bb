#include "run/train/training_end.h"

namespace partita {

std::string TrainingEnd::outcome() const {
  if (status().ok()) return result.stopped_by != 0 ? "interrupted" : "finished";
  return absl::IsOutOfRange(status()) ? "non_finite" : "failed";
}

}  // namespace partita
