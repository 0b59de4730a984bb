#include "graph/passes/drop_unused.h"

#include <algorithm>

#include "graph/ir/entry_point.h"
#include "graph/ir/rewriter.h"
#include "graph/value/node_name.h"
#include "runtime/base/status.h"

namespace partita {

Graph DropUnused(const Graph& graph, bool keep_inputs) {
  std::vector<bool> needed(graph.values().size(), false);
  auto need = [&](ValueId value) {
    if (value != kNoValue) needed[value] = true;
  };
  for (const ValueId value : ReadByHost(graph)) need(value);
  for (const State& state : graph.states()) {
    need(state.value);
    need(state.update);
  }
  std::vector<bool> kept(graph.nodes().size(), false);
  for (NodeId id = static_cast<NodeId>(graph.nodes().size()); id-- > 0;) {
    const Node& node = graph.node(id);
    kept[id] = (keep_inputs && node.op->role == Role::kInput) ||
               std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId output) { return needed[output]; });
    if (kept[id]) std::for_each(node.inputs.begin(), node.inputs.end(), need);
  }
  Rewriter rewriter(graph);
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    if (kept[id]) rewriter.Copy(id);
  }
  return rewriter.Finish();
}

Graph DropTrainingOnly(Graph graph) {
  const auto training_only = [](const FurtherLoss& loss) { return loss.training_only; };
  if (std::erase_if(graph.further_losses, training_only) == 0) return graph;
  return DropUnused(graph, /*keep_inputs=*/false);
}

absl::StatusOr<Graph> OnlyResults(Graph graph, const std::vector<std::string>& names) {
  graph.loss = kNoValue;
  graph.further_losses.clear();
  graph.metrics.clear();
  for (const std::string& name : names) {
    const ValueId value = graph.Find(name);
    if (value == kNoValue) {
      std::vector<std::string> known;
      for (const Value& each : graph.values()) known.push_back(each.name);
      return InvalidArgument("there is no value {} to predict{}", Quoted(name), Suggestion(name, known));
    }
    graph.metrics.push_back(value);
  }
  return DropUnused(graph, /*keep_inputs=*/false);
}

}  // namespace partita
