#include "run/data/class_weights.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "graph/read/class_weights.h"
#include "graph/value/node_name.h"
#include "ops/registry.h"
#include "run/spec/spec_error.h"
#include "run/tuning/class_weights.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

absl::StatusOr<std::vector<double>> NamedWeights(const ClassWeights& weights, const TrainingData& data,
                                                 int64_t classes) {
  std::vector<std::string> names;
  if (data.preprocessing) names = data.preprocessing->class_names;
  if (names.empty()) {
    return FlagError(
        "flag --class-weights names class {}, but the classes of the data are numbers; expected {} "
        "weights, in the order of the classes",
        Quoted(weights.by_name.begin()->first), classes);
  }
  std::vector<double> result(static_cast<size_t>(classes), 1);
  for (const auto& [name, weight] : weights.by_name) {
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) {
      return FlagError("flag --class-weights: the data has no class {}{}", Quoted(name), Suggestion(name, names));
    }
    result[static_cast<size_t>(found - names.begin())] = weight;
  }
  return result;
}

// A label that the loss ignores is of no class.
std::vector<int64_t> WithoutIgnored(std::vector<int64_t> counts, const Graph& graph) {
  const Attributes& loss = graph.node(graph.value(graph.loss).producer).attributes;
  if (loss.Has("ignore_index")) counts[static_cast<size_t>(loss.Int("ignore_index"))] = 0;
  return counts;
}

}  // namespace

std::vector<int64_t> CountLabels(std::span<const int32_t> labels, int64_t classes) {
  std::vector<int64_t> counts(static_cast<size_t>(classes), 0);
  for (const int32_t label : labels) {
    if (label >= 0 && label < classes) ++counts[static_cast<size_t>(label)];  // others are ignored
  }
  return counts;
}

std::vector<double> BalancedWeights(const std::vector<int64_t>& counts) {
  const auto all = static_cast<double>(std::accumulate(counts.begin(), counts.end(), int64_t{0}));
  const auto present = static_cast<double>(counts.size()) - static_cast<double>(std::ranges::count(counts, 0));
  std::vector<double> weights;
  for (const int64_t count : counts) {
    weights.push_back(count == 0 ? 1 : all / (present * static_cast<double>(count)));
  }
  return weights;
}

bool CountsLabels(const RunSpec& spec) { return spec.model().class_weights() == "balanced"; }

absl::Status WeighByData(const RunSpec& spec, const TrainingData& data, Model& model) {
  if (!spec.model().has_class_weights()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const ClassWeights given, ReadClassWeights(spec));
  if (!given.numbers.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const ClassLoss loss, ClassLossOf(model));
  std::vector<double> weights;
  if (given.balanced) {
    const auto counts = data.label_counts.find(loss.labels);
    if (counts == data.label_counts.end()) {
      return FlagError(
          "flag --class-weights=balanced counts labels of images, pictures and arrays; the data has none "
          "of these for input {}",
          Quoted(loss.labels));
    }
    weights = BalancedWeights(WithoutIgnored(counts->second, model.graph));
  } else {
    ASSIGN_OR_RETURN(weights, NamedWeights(given, data, loss.classes));
  }
  ASSIGN_OR_RETURN(model, WithClassWeights(model, weights, Ops()));
  return absl::OkStatus();
}

}  // namespace partita
