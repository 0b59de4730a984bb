#include "run/tuning/class_weights.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "graph/read/class_weights.h"
#include "graph/value/node_name.h"
#include "ops/registry.h"
#include "run/spec/flag.h"
#include "run/spec/spec_error.h"
#include "runtime/base/number.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr char kForms[] = "a number for each class as 1,2.5, NAME=NUMBER as cat=2.5, or balanced";

absl::StatusOr<double> WeightOf(const std::string& text) {
  const std::optional<double> number = NumberOf<double>(text);
  if (!number) return FlagError("flag --class-weights: found {}; expected {}", Quoted(text), kForms);
  if (!std::isfinite(*number) || *number < 0) {
    return FlagError("flag --class-weights: a weight is {}; expected a finite number of 0 or more", text);
  }
  return *number;
}

}  // namespace

absl::StatusOr<ClassWeights> ReadClassWeights(const RunSpec& spec) {
  ClassWeights weights;
  const std::vector<std::string> words = ListOf(spec.model().class_weights());
  if (words == std::vector<std::string>{"balanced"}) {
    weights.balanced = true;
    return weights;
  }
  for (const std::string& word : words) {
    const size_t equals = word.rfind('=');
    const bool named = equals != std::string::npos && equals > 0;
    ASSIGN_OR_RETURN(const double weight, WeightOf(named ? word.substr(equals + 1) : word));
    if (!named) {
      weights.numbers.push_back(weight);
    } else if (!weights.by_name.emplace(word.substr(0, equals), weight).second) {
      return FlagError("flag --class-weights: class {} is given twice; once is allowed",
                       Quoted(word.substr(0, equals)));
    }
  }
  if (!weights.numbers.empty() && !weights.by_name.empty()) {
    return FlagError("flag --class-weights: some weights have the name of a class and some have none; expected {}",
                     kForms);
  }
  if (!weights.numbers.empty() && std::ranges::max(weights.numbers) == 0) {
    return FlagError("flag --class-weights: all weights are 0; expected one above 0");
  }
  return weights;
}

absl::StatusOr<Model> WithClassWeights(const RunSpec& spec, Model model) {
  if (!spec.model().has_class_weights()) return model;
  ASSIGN_OR_RETURN(ClassWeights weights, ReadClassWeights(spec));
  const absl::StatusOr<ClassLoss> loss = ClassLossOf(model);
  if (!loss.ok()) return FlagError("flag --class-weights: {}", std::string(loss.status().message()));
  const auto classes = static_cast<size_t>(loss->classes);
  if (weights.numbers.empty()) {
    weights.numbers.assign(classes, 1);
  } else if (weights.numbers.size() != classes) {
    return FlagError("flag --class-weights has {}; the loss tells {} classes apart, and each needs one",
                     Counted(weights.numbers.size(), "weight"), classes);
  }
  return WithClassWeights(model, weights.numbers, Ops());
}

}  // namespace partita
