// The further scalars that a graph names, as means over steps or samples.
#ifndef PARTITA_RUNTIME_TRAIN_METRICS_H_
#define PARTITA_RUNTIME_TRAIN_METRICS_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/ir/graph.h"

namespace partita {

// By name, in the order of the graph.
using Metrics = std::vector<std::pair<std::string, double>>;

// Adds `share` times each value of a step to its sum; the first step names them.
void AddShare(const Metrics& step, double share, Metrics& sums);

// None if there is no metric of that name.
std::optional<double> MetricOf(const Metrics& metrics, const std::string& name);

// The names of those metrics of a user's graph that are accuracies: shares of the samples, from 0 to 1. A sum that
// nothing divides is a count, and not among them.
std::vector<std::string> AccuraciesOf(const Graph& forward);

}  // namespace partita

#endif  // PARTITA_RUNTIME_TRAIN_METRICS_H_
