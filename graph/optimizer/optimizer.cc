#include "graph/optimizer/optimizer.h"

#include <cmath>

#include "graph/optimizer/parameter_groups.h"
#include "graph/value/node_name.h"
#include "runtime/base/status.h"

namespace partita {

const OptimizerDefinition* FindOptimizer(const std::string& name, const Optimizers& optimizers) {
  for (const OptimizerDefinition& optimizer : optimizers) {
    if (name.empty() || optimizer.name == name) return &optimizer;
  }
  return nullptr;
}

namespace {

absl::Status CheckGradientScale(const ParameterGroup& group) {
  const double scale = GradientScale(group);
  if (scale > 0 && std::isfinite(scale)) return absl::OkStatus();
  return InvalidArgument("{} is {}; a finite number above 0 is allowed", kGradientScale, scale);
}

// The optimizer's attributes, but those that the group says.
absl::Status CompleteGroup(const OptimizerDefinition& definition, const Attributes& all, ParameterGroup& group) {
  if (group.pattern.empty()) return InvalidArgument("pattern is missing; it says which parameters are meant");
  RETURN_IF_ERROR(CheckRange("rate", group.rate, 0));
  if (group.clip_norm) RETURN_IF_ERROR(CheckRange("clip_norm", *group.clip_norm, 0));
  std::vector<AttributeDefinition> known = definition.attributes;
  known.push_back({kGradientScale, 1.0});
  Attributes said = GroupAttributes(all, group);
  if (const Attribute* const scale = group.attributes.Find(kGradientScale)) said.Set(kGradientScale, *scale);
  ASSIGN_OR_RETURN(const Attributes own, CompleteAttributes("optimizer", definition.name, known, said));
  RETURN_IF_ERROR(definition.check(own));
  const Attributes given = group.attributes;
  for (const auto& [name, value] : given.entries()) group.attributes.Set(name, *own.Find(name));
  RETURN_IF_ERROR(CheckGradientScale(group));
  return absl::OkStatus();
}

absl::Status CheckAverage(const MovingAverage& average) {
  if (average.pattern.empty()) return InvalidArgument("optimizer.average.pattern is empty; \"*\" is all");
  if (average.decay > 0 && average.decay < 1) return absl::OkStatus();
  return InvalidArgument("optimizer.average.decay is {}; more than 0 and less than 1 is allowed", average.decay);
}

}  // namespace

Attributes GroupAttributes(const Attributes& all, const ParameterGroup& group) {
  Attributes attributes = all;
  for (const auto& [name, value] : group.attributes.entries()) {
    if (name != kGradientScale) attributes.Set(name, value);
  }
  return attributes;
}

absl::StatusOr<Optimizer> CompleteOptimizer(const Optimizer& optimizer, const Optimizers& optimizers) {
  const OptimizerDefinition* const definition = FindOptimizer(optimizer.name, optimizers);
  if (definition == nullptr) {
    std::vector<std::string> names;
    for (const OptimizerDefinition& known : optimizers) names.push_back(known.name);
    return InvalidArgument("optimizer.name is {}, which is unknown{}", Quoted(optimizer.name),
                           Suggestion(optimizer.name, names));
  }
  Optimizer complete = optimizer;
  ASSIGN_OR_RETURN(complete.attributes,
                   CompleteAttributes("optimizer", definition->name, definition->attributes, optimizer.attributes));
  RETURN_IF_ERROR(definition->check(complete.attributes));
  RETURN_IF_ERROR(CheckRange("optimizer.clip_norm", complete.clip_norm, 0));
  for (ParameterGroup& group : complete.groups) {
    RETURN_IF_ERROR(WithContext(fmt::format("optimizer.groups {}", Quoted(group.pattern)),
                                CompleteGroup(*definition, complete.attributes, group)));
  }
  if (complete.average) RETURN_IF_ERROR(CheckAverage(*complete.average));
  return complete;
}

}  // namespace partita
