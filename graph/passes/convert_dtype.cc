#include "graph/passes/convert_dtype.h"

#include "graph/ir/rewriter.h"

namespace partita {

Graph ConvertDType(const Graph& graph, DType floating) {
  Rewriter rewriter(graph);
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    Node node = graph.node(id);
    for (ValueId& input : node.inputs) input = rewriter.At(input);
    if (node.attributes.Has("dtype")) {
      const std::optional<DType> dtype = ParseDType(node.attributes.String("dtype"));
      if (dtype && IsFloating(*dtype)) node.attributes.Set("dtype", std::string(Name(floating)));
    }
    std::vector<Value> outputs = rewriter.Outputs(id);
    for (Value& output : outputs) {
      if (IsFloating(output.type.dtype)) output.type.dtype = floating;
    }
    const NodeId copy = rewriter.graph().AddNode(std::move(node), outputs);
    for (size_t o = 0; o < outputs.size(); ++o) {
      rewriter.Map(graph.node(id).outputs[o], rewriter.graph().node(copy).outputs[o]);
    }
  }
  return rewriter.Finish();
}

}  // namespace partita
