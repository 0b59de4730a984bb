#include "run/train/patience.h"

#include <fmt/format.h>

#include "run/spec/spec_error.h"
#include "runtime/base/number.h"

namespace partita {

BestScore ScoreOf(const Graph& forward, double test_loss, const Metrics& test_metrics) {
  for (const std::string& name : AccuraciesOf(forward)) {
    if (const std::optional<double> accuracy = MetricOf(test_metrics, name)) return {"accuracy", *accuracy};
  }
  return {"loss", test_loss};
}

absl::StatusOr<std::optional<Patience>> Patience::Read(const RunSpec& spec, const TrainingData& data,
                                                       const std::optional<Stagnation>& before) {
  if (spec.train().patience() == 0) return std::nullopt;
  if (data.test == nullptr) return FlagError("flag --patience is of a test set, and the data has none");
  return Patience(spec.train().patience(), before);
}

void Patience::Take(const BestScore& score) {
  if (!stagnation_ || stagnation_->best.IsBeatenBy(score)) {
    stagnation_ = {score, 0};
  } else {
    ++stagnation_->epochs;
  }
}

std::string Patience::ToString(int64_t epoch) const {
  const auto& [best, epochs] = *stagnation_;
  return fmt::format("no better test {} for {}: the best was {:.4f} after epoch {}", best.metric,
                     Counted(epochs, "epoch"), best.value, epoch - epochs);
}

}  // namespace partita
