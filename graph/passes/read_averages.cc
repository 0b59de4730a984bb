#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graph/ir/generated_name.h"
#include "graph/ir/rewriter.h"
#include "graph/passes/prepare_evaluation.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// Appends the average of a state that has been copied.
absl::StatusOr<ValueId> AddAverage(const OpRegistry& registry, ValueId state, Graph& graph) {
  const Value of = graph.value(state);
  const OpDefinition& op = registry.Get(Role::kState);
  Attributes attributes = graph.node(of.producer).attributes;
  attributes.Set("like", DrawnAs(attributes, of.name));
  ASSIGN_OR_RETURN(attributes, CompleteAttributes(op, attributes));
  const NodeId average =
      graph.AddNode({&op, std::move(attributes), {}, {}, Phase::kForward}, {{AverageName(of.name), of.type, {}, -1}});
  return graph.node(average).outputs[0];
}

}  // namespace

absl::StatusOr<Graph> ReadAverages(Graph forward, const std::map<std::string, Layout>& states,
                                   const OpRegistry& registry) {
  const auto averaged = [&](const State& state) {
    return states.contains(AverageName(forward.value(state.value).name));
  };
  if (std::ranges::none_of(forward.states(), averaged)) return forward;
  Rewriter rewriter(forward);
  std::vector<std::pair<ValueId, ValueId>> copies;  // of states that have an average
  std::vector<ValueId> averages;
  for (NodeId id = 0; id < static_cast<NodeId>(forward.nodes().size()); ++id) {
    rewriter.Copy(id);
    const ValueId value = forward.node(id).outputs[0];
    if (!forward.node(id).op->is_state() || !states.contains(AverageName(forward.value(value).name))) continue;
    copies.emplace_back(value, rewriter.At(value));
    ASSIGN_OR_RETURN(averages.emplace_back(), AddAverage(registry, rewriter.At(value), rewriter.graph()));
    rewriter.Map(value, averages.back());
  }
  for (const auto& [value, copy] : copies) rewriter.Map(value, copy);
  Graph graph = rewriter.Finish();
  for (const ValueId average : averages) graph.AddState({average, kNoValue});
  return graph;
}

}  // namespace partita
