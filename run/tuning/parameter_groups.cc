#include "graph/optimizer/parameter_groups.h"

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/optimizer/optimizer.h"
#include "graph/value/node_name.h"
#include "ops/registry.h"
#include "run/spec/flag.h"
#include "run/spec/spec_error.h"
#include "run/tuning/parameter_groups.h"
#include "runtime/base/number.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr char kDecay[] = "weight_decay";

std::vector<std::string> ParametersOf(const Graph& graph) {
  std::vector<std::string> names;
  for (const State& state : graph.states()) {
    const Value& value = graph.value(state.value);
    if (graph.node(value.producer).op->role == Role::kParameter) names.push_back(value.name);
  }
  return names;
}

// "backbone.*=0.1"
absl::StatusOr<std::vector<ParameterGroup>> RateGroups(const std::string& text) {
  std::vector<ParameterGroup> groups;
  for (const std::string& word : ListOf(text)) {
    const size_t equals = word.rfind('=');
    std::optional<double> factor;
    if (equals != std::string::npos && equals > 0) factor = NumberOf<double>(word.substr(equals + 1));
    if (!factor || !std::isfinite(*factor) || *factor < 0) {
      return FlagError("flag --rate-scale: found {}; expected PATTERN=FACTOR with a factor of 0 or more", Quoted(word));
    }
    groups.push_back({word.substr(0, equals), *factor});
  }
  return groups;
}

std::vector<ParameterGroup> DecayGroups(const std::string& text) {
  std::vector<ParameterGroup> groups;
  for (const std::string& pattern : ListOf(text)) groups.push_back({pattern, 1, {{kDecay, 0.0}}});
  return groups;
}

// The group of each name, -1: of none.
absl::StatusOr<std::vector<int>> GroupsBy(const char* flag, const std::vector<ParameterGroup>& groups,
                                          const std::vector<std::string>& names) {
  std::vector<std::string> patterns;
  std::vector<int> group_of(names.size(), -1);
  for (size_t g = 0; g < groups.size(); ++g) {
    const absl::StatusOr<std::vector<bool>> matching = MatchingNames({groups[g].pattern}, names);
    if (!matching.ok()) return FlagError("flag --{}: {}", flag, std::string(matching.status().message()));
    for (size_t i = 0; i < names.size(); ++i) {
      if ((*matching)[i] && group_of[i] < 0) group_of[i] = static_cast<int>(g);
    }
  }
  return group_of;
}

// What both say of one parameter.
void Join(const ParameterGroup& other, ParameterGroup& group) {
  group.rate *= other.rate;
  for (const auto& [name, value] : other.attributes.entries()) group.attributes.Set(name, value);
}

}  // namespace

absl::Status AddParameterGroups(const RunSpec& spec, Model& model) {
  const ModelSpec& settings = spec.model();
  if (!settings.has_rate_scale() && !settings.has_no_decay()) return absl::OkStatus();
  const std::vector<std::string> names = ParametersOf(model.graph);
  Optimizer& optimizer = model.optimizer;
  ASSIGN_OR_RETURN(const std::vector<int> own, GroupsOf(optimizer, names));
  std::vector<ParameterGroup> rates, decays;
  if (settings.has_rate_scale()) {
    ASSIGN_OR_RETURN(rates, RateGroups(settings.rate_scale()));
  }
  if (settings.has_no_decay()) decays = DecayGroups(settings.no_decay());
  ASSIGN_OR_RETURN(const std::vector<int> rate_of, GroupsBy("rate-scale", rates, names));
  ASSIGN_OR_RETURN(const std::vector<int> decay_of, GroupsBy("no-decay", decays, names));
  std::vector<ParameterGroup> groups;
  for (size_t i = 0; i < names.size(); ++i) {
    std::vector<const ParameterGroup*> said;
    if (own[i] >= 0) said.push_back(&optimizer.groups[static_cast<size_t>(own[i])]);
    if (rate_of[i] >= 0) said.push_back(&rates[static_cast<size_t>(rate_of[i])]);
    if (decay_of[i] >= 0) said.push_back(&decays[static_cast<size_t>(decay_of[i])]);
    if (said.size() < 2) continue;
    if (said[0]->clip_norm) {
      return FlagError(
          "flag --{}: {} is in group {} of the optimizer, which has a clip_norm of its own; expected such groups to "
          "say the rate and weight_decay themselves",
          rate_of[i] >= 0 ? "rate-scale" : "no-decay", Quoted(names[i]), Quoted(said[0]->pattern));
    }
    ParameterGroup& group = groups.emplace_back(ParameterGroup{names[i]});
    for (const ParameterGroup* const part : said) Join(*part, group);
  }
  for (std::vector<ParameterGroup>* const more : {&rates, &decays, &optimizer.groups}) {
    groups.insert(groups.end(), more->begin(), more->end());
  }
  optimizer.groups = std::move(groups);
  ASSIGN_OR_RETURN(optimizer, CompleteOptimizer(optimizer, Ops().optimizers()));
  return absl::OkStatus();
}

}  // namespace partita
