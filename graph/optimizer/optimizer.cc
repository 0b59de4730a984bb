#include "graph/optimizer/optimizer.h"

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

// The optimizer's attributes, but those that the group says.
absl::Status CompleteGroup(const OptimizerDefinition& definition, const Attributes& all, ParameterGroup& group) {
  if (group.pattern.empty()) return InvalidArgument("pattern is missing; it says which parameters are meant");
  RETURN_IF_ERROR(CheckRange("rate", group.rate, 0));
  if (group.clip_norm) RETURN_IF_ERROR(CheckRange("clip_norm", *group.clip_norm, 0));
  ASSIGN_OR_RETURN(const Attributes own, CompleteAttributes("optimizer", definition.name, definition.attributes,
                                                            GroupAttributes(all, group)));
  RETURN_IF_ERROR(definition.check(own));
  const Attributes given = group.attributes;
  for (const auto& [name, value] : given.entries()) group.attributes.Set(name, *own.Find(name));
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
  for (const auto& [name, value] : group.attributes.entries()) attributes.Set(name, value);
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
