#include "runtime/train/metrics.h"

#include <set>

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

namespace {

constexpr size_t kWeights = 2;  // of an accuracy's inputs

// Whether something divides what `value` is computed from.
bool IsDivided(const Graph& forward, ValueId value) {
  std::set<ValueId> seen;
  std::vector<ValueId> left = {value};
  while (!left.empty()) {
    const ValueId at = left.back();
    left.pop_back();
    if (at == kNoValue || !seen.insert(at).second) continue;
    const Node& node = forward.node(forward.value(at).producer);
    if (node.op->name == "over" || node.op->name == "div") return true;
    left.insert(left.end(), node.inputs.begin(), node.inputs.end());
  }
  return false;
}

// A sum of weights that nothing divides counts samples.
bool IsShare(const Graph& forward, const Node& accuracy) {
  if (!accuracy.attributes.Has("reduction") || accuracy.attributes.String("reduction") == "mean") return true;
  return accuracy.inputs.size() > kWeights && IsDivided(forward, accuracy.inputs[kWeights]);
}

}  // namespace

std::vector<std::string> AccuraciesOf(const Graph& forward) {
  std::vector<std::string> names;
  for (const ValueId metric : forward.metrics) {
    const Value& value = forward.value(metric);
    const Node& node = forward.node(value.producer);
    if (node.op->role == Role::kAccuracy && IsShare(forward, node)) names.push_back(value.name);
  }
  return names;
}

}  // namespace partita
