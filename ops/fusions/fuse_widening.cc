#include "ops/fusions/fuse_widening.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "graph/ir/rewriter.h"

namespace partita {
namespace {

bool IsProduct(const Node& node) { return node.op->name == "matmul" || node.op->name == "matmul_epilogue"; }

// By node that makes a product of bf16: the cast that alone reads it; -1: there is none.
std::vector<NodeId> Widenings(const Graph& graph) {
  const std::vector<int> readers = CountReaders(graph);
  std::vector<NodeId> cast_of(graph.nodes().size(), -1);
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    const Node& node = graph.node(id);
    if (node.op->role != Role::kCast) continue;
    const ValueId from = node.inputs[0], to = node.outputs[0];
    if (graph.type(from).dtype != DType::kBF16 || graph.type(to).dtype != DType::kF32 || readers[from] != 1) continue;
    const NodeId product = graph.value(from).producer;
    if (IsProduct(graph.node(product))) cast_of[product] = id;
  }
  return cast_of;
}

void Append(const Graph& graph, NodeId product, NodeId cast, const OpRegistry& registry, Rewriter& rewriter) {
  Node node = graph.node(product);
  if (node.op->name == "matmul") {
    node.op = registry.Find("matmul_epilogue");
    node.attributes.Set("activation", "");
    node.inputs.push_back(kNoValue);
  }
  node.attributes.Set("wide", true);
  for (ValueId& input : node.inputs) input = rewriter.At(input);
  const NodeId id = rewriter.graph().AddNode(std::move(node), rewriter.Outputs(cast));
  rewriter.Map(graph.node(cast).outputs[0], rewriter.graph().node(id).outputs[0]);
}

}  // namespace

Graph FuseWidening(Graph graph, const OpRegistry& registry) {
  const std::vector<NodeId> cast_of = Widenings(graph);
  if (std::ranges::all_of(cast_of, [](NodeId cast) { return cast < 0; })) return graph;
  std::vector<bool> joined(graph.nodes().size(), false);
  Rewriter rewriter(graph);
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    if (cast_of[id] >= 0) {
      Append(graph, id, cast_of[id], registry, rewriter);
      joined[cast_of[id]] = true;
    } else if (!joined[id]) {
      rewriter.Copy(id);
    }
  }
  return rewriter.Finish();
}

}  // namespace partita
