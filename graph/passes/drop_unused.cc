#include "graph/passes/drop_unused.h"

#include <algorithm>

#include "graph/ir/entry_point.h"
#include "graph/ir/rewriter.h"

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

}  // namespace partita
