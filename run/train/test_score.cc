#include "run/train/test_score.h"

#include <optional>
#include <string>

namespace partita {

BestScore ScoreOf(const Graph& forward, double test_loss, const Metrics& test_metrics) {
  for (const std::string& name : AccuraciesOf(forward)) {
    if (const std::optional<double> accuracy = MetricOf(test_metrics, name)) return {"accuracy", *accuracy};
  }
  return {"loss", test_loss};
}

}  // namespace partita
