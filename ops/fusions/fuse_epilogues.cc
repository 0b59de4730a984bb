#include "ops/fusions/fuse_epilogues.h"

#include <algorithm>

#include "graph/ir/rewriter.h"
#include "ops/functors/epilogue.h"

namespace partita {
namespace {

// The nodes that one takes the place of: `bias` or `activation` is -1 where there is none.
struct Chain {
  NodeId product = -1, bias = -1, activation = -1;
};

class EpilogueFusion {
 public:
  explicit EpilogueFusion(const Graph& graph)
      : graph_(graph), readers_(CountReaders(graph)), chain_of_(graph.nodes().size()), joined_(graph.nodes().size()) {}

  // False if there are none.
  bool FindChains() {
    bool any = false;
    const auto nodes = static_cast<NodeId>(graph_.nodes().size());
    for (NodeId id = nodes; id-- > 0;) {
      if (joined_[id]) continue;
      const Chain chain = ChainEndingAt(id);
      if (chain.product < 0) continue;
      chain_of_[id] = chain;
      for (const NodeId part : {chain.product, chain.bias, chain.activation}) {
        if (part >= 0) joined_[part] = true;
      }
      any = true;
    }
    return any;
  }

  Graph Fused(const OpRegistry& registry) const {
    Rewriter rewriter(graph_);
    for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes().size()); ++id) {
      const Chain& chain = chain_of_[id];
      if (chain.product < 0) {
        if (!joined_[id]) rewriter.Copy(id);
        continue;
      }
      Node node = graph_.node(chain.product);
      node.op = registry.Find(node.op->name + "_epilogue");
      node.inputs.push_back(chain.bias < 0 ? kNoValue : graph_.node(chain.bias).inputs[1]);
      node.attributes.Set("activation", chain.activation < 0 ? "" : graph_.node(chain.activation).op->name);
      if (node.op->name == "matmul_epilogue") node.attributes.Set("wide", false);
      for (ValueId& input : node.inputs) input = rewriter.At(input);
      rewriter.Replace(id, std::move(node));
    }
    return rewriter.Finish();
  }

 private:
  Chain ChainEndingAt(NodeId id) const {
    Chain chain;
    if (PlaceOf(EpilogueOps(), graph_.node(id).op->name) != kNoActivation) {
      chain.activation = id;
      id = Before(id);
    }
    if (id >= 0 && graph_.node(id).op->name == "bias") {
      chain.bias = id;
      id = Before(id);
    }
    const bool follows = chain.activation >= 0 || chain.bias >= 0;
    if (follows && id >= 0 && IsProduct(id)) chain.product = id;
    return chain;
  }

  // The node that makes what `id` alone reads, with the layout that it has after; -1: there is none.
  NodeId Before(NodeId id) const {
    const Node& node = graph_.node(id);
    const ValueId value = node.inputs[0];
    if (readers_[value] != 1 || !(graph_.layout(value) == graph_.layout(node.outputs[0]))) return -1;
    return graph_.value(value).producer;
  }

  bool IsProduct(NodeId id) const {
    const Node& node = graph_.node(id);
    if (node.op->name != "conv2d" && node.op->name != "matmul") return false;
    return std::ranges::none_of(graph_.layout(node.outputs[0]), [](const AxisLayout& axis) { return axis.partial(); });
  }

  const Graph& graph_;
  const std::vector<int> readers_;
  std::vector<Chain> chain_of_;  // by its last node
  std::vector<bool> joined_;     // by node: it is a part of a chain
};

}  // namespace

Graph FuseEpilogues(Graph graph, const OpRegistry& registry) {
  EpilogueFusion fusion(graph);
  if (!fusion.FindChains()) return graph;
  return fusion.Fused(registry);
}

}  // namespace partita
