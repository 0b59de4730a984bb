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
  return complete;
}

}  // namespace partita
