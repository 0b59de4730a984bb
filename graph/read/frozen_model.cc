#include "graph/read/frozen_model.h"

#include <algorithm>
#include <utility>

#include "graph/optimizer/parameter_groups.h"
#include "graph/read/graph_assembler.h"
#include "graph/read/model_entries.h"
#include "graph/read/verify_model.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

bool IsOf(const NodeDescription& node, Role role, const OpRegistry& registry) {
  return node.op == registry.Get(role).name;
}

absl::Status FreezeParameters(const std::vector<std::string>& patterns, const OpRegistry& registry,
                              std::vector<NodeDescription>& nodes, Optimizer& optimizer) {
  std::vector<std::string> parameters, trained, frozen;
  for (const NodeDescription& node : nodes) {
    if (IsOf(node, Role::kParameter, registry)) parameters.push_back(node.name);
  }
  ASSIGN_OR_RETURN(const std::vector<bool> matching, MatchingNames(patterns, parameters));
  for (size_t i = 0; i < parameters.size(); ++i) (matching[i] ? frozen : trained).push_back(parameters[i]);
  if (trained.empty()) {
    return InvalidArgument("all {} parameters would stay as they are; expected patterns that leave some to training",
                           parameters.size());
  }
  for (NodeDescription& node : nodes) {
    if (std::ranges::find(frozen, node.name) != frozen.end()) node.op = registry.Get(Role::kState).name;
  }
  std::erase_if(optimizer.groups, [&](const ParameterGroup& group) {
    return !MatchingNames({group.pattern}, trained).ok() && MatchingNames({group.pattern}, frozen).ok();
  });
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Model> Frozen(const Model& model, const Freezing& freezing, const OpRegistry& registry) {
  Model result = model;
  std::vector<NodeDescription> nodes = DescribeNodes(model);
  if (!freezing.parameters.empty()) {
    RETURN_IF_ERROR(FreezeParameters(freezing.parameters, registry, nodes, result.optimizer));
  }
  for (NodeDescription& node : nodes) {
    if (freezing.statistics && node.op == "batch_norm") node.attributes.Set("frozen", true);
  }
  RETURN_IF_ERROR(BuildGraphs(nodes, DescribeResults(model.graph), registry, result));
  RETURN_IF_ERROR(VerifyPatterns(result.graph, result.optimizer));
  return result;
}

}  // namespace partita
