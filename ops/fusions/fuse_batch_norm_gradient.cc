#include "ops/fusions/fuse_batch_norm_gradient.h"

#include "graph/ir/rewriter.h"

namespace partita {
namespace {

// The producer of `value` if it is `op` and nobody else reads it; -1 otherwise.
NodeId SoleProducer(const Graph& graph, const std::vector<int>& readers, ValueId value, const char* op) {
  const NodeId producer = graph.value(value).producer;
  return readers[value] == 1 && graph.node(producer).op->name == op ? producer : -1;
}

}  // namespace

Graph FuseBatchNormGradient(Graph graph, const OpRegistry& registry) {
  const std::vector<int> readers = CountReaders(graph);
  struct Parts {
    NodeId normalize = -1, statistics = -1;
  };
  std::vector<Parts> parts(graph.nodes().size());
  bool any = false;
  std::vector<bool> dropped(graph.nodes().size(), false);
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    const Node& add = graph.node(id);
    if (add.op->name != "add" || add.inputs.size() != 2) continue;
    for (int first : {0, 1}) {
      const NodeId normalize = SoleProducer(graph, readers, add.inputs[first], "batch_norm_normalize_input_grad");
      const NodeId statistics = SoleProducer(graph, readers, add.inputs[1 - first], "batch_norm_statistics_grad");
      if (normalize < 0 || statistics < 0) continue;
      if (graph.node(normalize).inputs[0] != graph.node(statistics).inputs[0]) continue;
      parts[id] = {normalize, statistics};
      dropped[normalize] = dropped[statistics] = any = true;
    }
  }
  if (!any) return graph;
  Rewriter rewriter(graph);
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    if (dropped[id]) continue;
    if (parts[id].normalize < 0) {
      rewriter.Copy(id);
      continue;
    }
    Node node = graph.node(parts[id].normalize);
    node.op = registry.Find("batch_norm_input_grad");
    node.inputs.push_back(graph.node(parts[id].statistics).inputs[2]);
    for (ValueId& input : node.inputs) input = rewriter.At(input);
    rewriter.Replace(id, std::move(node));
  }
  return rewriter.Finish();
}

}  // namespace partita
