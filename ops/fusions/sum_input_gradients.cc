#include "ops/fusions/sum_input_gradients.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "graph/ir/rewriter.h"
#include "ops/fusions/pixel_convolution.h"

namespace partita {
namespace {

class GradientSums {
 public:
  explicit GradientSums(const Graph& graph)
      : graph_(graph), readers_(CountReaders(graph)), terms_(graph.nodes().size()), joined_(graph.nodes().size()) {}

  // False if there are none.
  bool Find() {
    bool any = false;
    for (NodeId id = 0; id < nodes(); ++id) {
      if (graph_.node(id).op->role != Role::kAdd) continue;
      terms_[id] = TermsOf(graph_.node(id));
      for (const NodeId term : terms_[id]) joined_[term] = any = true;
    }
    return any;
  }

  Graph Joined(const OpRegistry& registry) const {
    Rewriter rewriter(graph_);
    for (NodeId id = 0; id < nodes(); ++id) {
      if (joined_[id]) continue;
      if (terms_[id].empty()) {
        rewriter.Copy(id);
      } else {
        AppendSum(id, registry, rewriter);
      }
    }
    return rewriter.Finish();
  }

 private:
  NodeId nodes() const { return static_cast<NodeId>(graph_.nodes().size()); }

  // Those among what is added that can be one; empty: fewer than two.
  std::vector<NodeId> TermsOf(const Node& add) const {
    std::vector<NodeId> terms;
    for (const ValueId input : add.inputs) {
      const NodeId id = graph_.value(input).producer;
      if (readers_[input] == 1 && IsTerm(graph_.node(id)) && (terms.empty() || Alike(terms[0], id))) {
        terms.push_back(id);
      }
    }
    return terms.size() < 2 ? std::vector<NodeId>() : terms;
  }

  bool IsTerm(const Node& node) const {
    if (node.op->name != "conv2d_input_grad") return false;
    const ValueId dy = node.inputs[0], w = node.inputs[1];
    const auto partial = [](const AxisLayout& axis) { return axis.partial(); };
    const auto by_channels = [](const AxisLayout& axis) { return axis.split() && axis.dimension == 3; };
    return IsOfPixels(node.attributes, graph_.type(w).shape) && std::ranges::none_of(graph_.layout(dy), by_channels) &&
           std::ranges::none_of(graph_.layout(dy), partial) && std::ranges::none_of(graph_.layout(w), partial);
  }

  // Of gradients that are added.
  bool Alike(NodeId one, NodeId other) const {
    const Node &a = graph_.node(one), &b = graph_.node(other);
    return a.attributes == b.attributes && a.phase == b.phase && a.micro_batch == b.micro_batch &&
           graph_.layout(a.inputs[0]) == graph_.layout(b.inputs[0]) &&
           graph_.layout(a.inputs[1]) == graph_.layout(b.inputs[1]);
  }

  // Instead of an add, or before it.
  void AppendSum(NodeId add, const OpRegistry& registry, Rewriter& rewriter) const {
    const std::vector<NodeId>& terms = terms_[add];
    Node sum = graph_.node(terms[0]);
    sum.op = registry.Find("conv2d_input_grad_sum");
    sum.inputs.clear();
    for (const NodeId term : terms) {
      for (const ValueId input : graph_.node(term).inputs) sum.inputs.push_back(rewriter.At(input));
    }
    Node rest = graph_.node(add);
    std::erase_if(rest.inputs, [&](ValueId input) { return joined_[graph_.value(input).producer]; });
    if (rest.inputs.empty()) {
      rewriter.Replace(add, std::move(sum));
      return;
    }
    std::vector<Value> outputs = rewriter.Outputs(add);
    outputs[0].name += "@sum";
    const NodeId id = rewriter.graph().AddNode(std::move(sum), std::move(outputs));
    for (ValueId& input : rest.inputs) input = rewriter.At(input);
    rest.inputs.push_back(rewriter.graph().node(id).outputs[0]);
    rewriter.Replace(add, std::move(rest));
  }

  const Graph& graph_;
  const std::vector<int> readers_;
  std::vector<std::vector<NodeId>> terms_;  // by add; empty: it stays as it is
  std::vector<bool> joined_;                // by node: it is a term
};

}  // namespace

Graph SumInputGradients(Graph graph, const OpRegistry& registry) {
  GradientSums sums(graph);
  if (!sums.Find()) return graph;
  return sums.Joined(registry);
}

}  // namespace partita
