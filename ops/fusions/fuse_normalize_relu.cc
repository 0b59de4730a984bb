#include "ops/fusions/fuse_normalize_relu.h"

#include "graph/ir/rewriter.h"

namespace partita {

Graph FuseNormalizeRelu(Graph graph, const OpRegistry&) {
  const std::vector<int> readers = CountReaders(graph);
  bool any = false;
  // By normalize node: the relu that takes its place.
  std::vector<NodeId> relu_of(graph.nodes().size(), -1);
  std::vector<bool> fused(graph.nodes().size(), false);
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    const Node& node = graph.node(id);
    if (node.op->name != "relu" || readers[node.inputs[0]] != 1) continue;
    const NodeId producer = graph.value(node.inputs[0]).producer;
    const std::string& op = graph.node(producer).op->name;
    if (op != "batch_norm_normalize" && op != "batch_norm_inference") continue;
    relu_of[producer] = id;
    fused[id] = any = true;
  }
  if (!any) return graph;
  Rewriter rewriter(graph);
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    if (fused[id]) continue;
    if (relu_of[id] < 0) {
      rewriter.Copy(id);
      continue;
    }
    Node node = graph.node(id);
    node.attributes.Set("relu", true);
    for (ValueId& input : node.inputs) input = rewriter.At(input);
    rewriter.Replace(relu_of[id], std::move(node));
  }
  return rewriter.Finish();
}

}  // namespace partita
