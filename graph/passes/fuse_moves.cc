#include "graph/passes/fuse_moves.h"

#include "graph/moves/move_ops.h"
#include "graph/moves/plan_move.h"
#include "graph/passes/rewriter.h"

namespace partita {
namespace {

// The two moves are one reduce_scatter: no inner split of the dimension is in the way.
bool IsReduceScatter(const Graph& graph, const Node& reduce, const Node& slice) {
  const Value& from = graph.value(reduce.inputs[0]);
  const std::vector<MoveStep> steps =
      PlanMove(from.layout, graph.layout(slice.outputs[0]), from.type.shape, graph.mesh(reduce.inputs[0]));
  return steps.size() == 1 && steps[0].op == "reduce_scatter";
}

}  // namespace

Graph FuseMoves(Graph graph, const OpRegistry& registry) {
  const std::vector<int> readers = CountReaders(graph);
  std::vector<bool> dropped(graph.nodes().size(), false);
  bool any = false;
  std::vector<NodeId> reduce_of(graph.nodes().size(), -1);
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    const Node& slice = graph.node(id);
    if (slice.op->name != "slice_move" || readers[slice.inputs[0]] != 1) continue;
    const NodeId producer = graph.value(slice.inputs[0]).producer;
    const Node& reduce = graph.node(producer);
    if (reduce.op->name != "all_reduce" || reduce.inputs.size() != 1) continue;
    if (!IsReduceScatter(graph, reduce, slice)) continue;
    dropped[producer] = true;
    reduce_of[id] = producer;
    any = true;
  }
  if (!any) return graph;
  Rewriter rewriter(graph);
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    if (dropped[id]) continue;
    if (reduce_of[id] < 0) {
      rewriter.Copy(id);
      continue;
    }
    Node node = graph.node(id);
    node.op = registry.Find("reduce_scatter");
    node.inputs = {rewriter.At(graph.node(reduce_of[id]).inputs[0])};
    rewriter.Replace(id, std::move(node));
  }
  return rewriter.Finish();
}

}  // namespace partita
