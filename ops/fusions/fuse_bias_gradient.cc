#include "ops/fusions/fuse_bias_gradient.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "graph/ir/rewriter.h"

namespace partita {
namespace {

// The nodes that one takes the place of: `cast` is -1 where there is none.
struct Pair {
  NodeId product = -1, cast = -1, sum = -1;

  NodeId weight() const { return cast < 0 ? product : cast; }
  NodeId first() const { return std::min(product, sum); }
};

class BiasGradientFusion {
 public:
  explicit BiasGradientFusion(const Graph& graph)
      : graph_(graph), readers_(CountReaders(graph)), cast_of_(graph.values().size(), -1), joined_(nodes()) {}

  // False if there are none.
  bool FindPairs() {
    std::map<ValueId, NodeId> sums;  // by what is added up
    for (NodeId id = 0; id < nodes(); ++id) {
      const Node& node = graph_.node(id);
      if (node.op->name == "bias_grad") sums.emplace(node.inputs[0], id);
      if (node.op->role == Role::kCast) cast_of_[node.inputs[0]] = id;
    }
    for (NodeId id = 0; id < nodes(); ++id) {
      if (graph_.node(id).op->name == "matmul") Join(id, sums);
    }
    return !pairs_.empty();
  }

  Graph Fused(const OpRegistry& registry) const {
    Rewriter rewriter(graph_);
    for (NodeId id = 0; id < nodes(); ++id) {
      if (const auto found = pairs_.find(id); found != pairs_.end()) Append(found->second, registry, rewriter);
      if (!joined_[id]) rewriter.Copy(id);
    }
    return rewriter.Finish();
  }

 private:
  NodeId nodes() const { return static_cast<NodeId>(graph_.nodes().size()); }

  // Of an operand whose rows the product adds up, and that no other product has been joined for.
  void Join(NodeId product, std::map<ValueId, NodeId>& sums) {
    const Node& node = graph_.node(product);
    for (const int operand : {1, 0}) {
      const bool adds_rows = operand == 1 ? !node.attributes.Bool("transpose_w") : node.attributes.Bool("transpose_x");
      const auto sum = sums.find(node.inputs[operand]);
      if (!adds_rows || sum == sums.end()) continue;
      const Pair pair{product, WideningOf(product), sum->second};
      if (!IsWide(pair) || !InputsAreThere(pair) || ReadsSummands(pair)) continue;
      for (const NodeId part : {pair.product, pair.cast, pair.sum}) {
        if (part >= 0) joined_[part] = true;
      }
      pairs_[pair.first()] = pair;
      sums.erase(sum);
      return;
    }
  }

  // The cast that alone reads a bf16 product; -1: there is none.
  NodeId WideningOf(NodeId product) const {
    const ValueId y = graph_.node(product).outputs[0];
    if (graph_.type(y).dtype != DType::kBF16 || readers_[y] != 1) return -1;
    return cast_of_[y];
  }

  // Both results are of one type: that of the sum.
  bool IsWide(const Pair& pair) const {
    const ValueId weight = graph_.node(pair.weight()).outputs[0], bias = graph_.node(pair.sum).outputs[0];
    return graph_.type(weight).dtype == graph_.type(bias).dtype;
  }

  bool InputsAreThere(const Pair& pair) const {
    return std::ranges::all_of(graph_.node(pair.product).inputs,
                               [&](ValueId input) { return graph_.value(input).producer < pair.first(); });
  }

  // A sum of summands and a product of them are linear in different inputs.
  bool ReadsSummands(const Pair& pair) const {
    return std::ranges::any_of(graph_.node(pair.product).inputs, [&](ValueId input) {
      return std::ranges::any_of(graph_.layout(input), [](const AxisLayout& axis) { return axis.partial(); });
    });
  }

  void Append(const Pair& pair, const OpRegistry& registry, Rewriter& rewriter) const {
    Node node = graph_.node(pair.product);
    const bool of_x = graph_.node(pair.sum).inputs[0] == node.inputs[0] && node.attributes.Bool("transpose_x");
    node.op = registry.Find("matmul_bias_grad");
    node.attributes.Set("bias_of", of_x ? "x" : "w");
    for (ValueId& input : node.inputs) input = rewriter.At(input);
    std::vector<Value> outputs = rewriter.Outputs(pair.weight());
    outputs.push_back(rewriter.Outputs(pair.sum)[0]);
    const NodeId id = rewriter.graph().AddNode(std::move(node), std::move(outputs));
    rewriter.Map(graph_.node(pair.weight()).outputs[0], rewriter.graph().node(id).outputs[0]);
    rewriter.Map(graph_.node(pair.sum).outputs[0], rewriter.graph().node(id).outputs[1]);
  }

  const Graph& graph_;
  const std::vector<int> readers_;
  std::vector<NodeId> cast_of_;   // by value
  std::vector<bool> joined_;      // by node: it is a part of a pair
  std::map<NodeId, Pair> pairs_;  // by its first node
};

}  // namespace

Graph FuseBiasGradient(Graph graph, const OpRegistry& registry) {
  BiasGradientFusion fusion(graph);
  if (!fusion.FindPairs()) return graph;
  return fusion.Fused(registry);
}

}  // namespace partita
