#include "runtime/train/metrics.h"

#include "graph/ir/op_definition.h"

namespace partita {

void AddShare(const Metrics& step, double share, Metrics& sums) {
  if (sums.empty()) {
    for (const auto& [name, value] : step) sums.emplace_back(name, 0);
  }
  for (size_t m = 0; m < step.size(); ++m) sums[m].second += share * step[m].second;
}

std::optional<double> MetricOf(const Metrics& metrics, const std::string& name) {
  for (const auto& [metric, value] : metrics) {
    if (metric == name) return value;
  }
  return std::nullopt;
}

std::vector<std::string> AccuraciesOf(const Graph& forward) {
  std::vector<std::string> names;
  for (const ValueId metric : forward.metrics) {
    const Value& value = forward.value(metric);
    if (forward.node(value.producer).op->role == Role::kAccuracy) names.push_back(value.name);
  }
  return names;
}

}  // namespace partita
