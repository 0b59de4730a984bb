#include "ops/fusions/fuse_relu_sums.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "graph/ir/rewriter.h"

namespace partita {
namespace {

class ReluSumsFusion {
 public:
  explicit ReluSumsFusion(const Graph& graph) : graph_(graph), dropped_(graph.nodes().size(), false) {}

  // False if there is nothing to join.
  bool Find() {
    std::map<ValueId, NodeId> masked;  // what relus let through, and has not been joined
    for (NodeId id = 0; id < nodes(); ++id) {
      const Node& node = graph_.node(id);
      if (node.op->name == "relu_grad") masked[node.outputs[0]] = id;
      const int operand = SummedOperand(node);
      if (operand < 0) continue;
      const auto found = masked.find(node.inputs[operand]);
      if (found == masked.end() || !InputsAreThere(node, operand, found->second)) continue;
      sums_[found->second] = id;
      dropped_[id] = true;
      masked.erase(found);
    }
    return !sums_.empty();
  }

  Graph Fused(const OpRegistry& registry) const {
    Rewriter rewriter(graph_);
    for (NodeId id = 0; id < nodes(); ++id) {
      if (const auto found = sums_.find(id); found != sums_.end()) {
        Append(id, found->second, registry, rewriter);
      } else if (!dropped_[id]) {
        rewriter.Copy(id);
      }
    }
    return rewriter.Finish();
  }

 private:
  NodeId nodes() const { return static_cast<NodeId>(graph_.nodes().size()); }

  // The input of a node that its sums are over; -1: it makes none that a relu's gradient may join.
  static int SummedOperand(const Node& node) {
    if (node.op->name == "bias_grad") return 0;
    return node.op->name == "batch_norm_gradient_sums" ? 1 : -1;
  }

  // What the sums read besides is there before the relu's gradient, which is laid out like what went into it.
  bool InputsAreThere(const Node& sums, int operand, NodeId relu) const {
    const Node& gradient = graph_.node(relu);
    for (const ValueId value : gradient.inputs) {
      if (graph_.type(value) != graph_.type(gradient.outputs[0])) return false;
      if (graph_.layout(value) != graph_.layout(gradient.outputs[0])) return false;
    }
    return std::ranges::all_of(sums.inputs, [&](ValueId input) {
      return input == sums.inputs[operand] || graph_.value(input).producer < relu;
    });
  }

  void Append(NodeId relu, NodeId sums, const OpRegistry& registry, Rewriter& rewriter) const {
    const Node& gradient = graph_.node(relu);
    Node node = graph_.node(sums);
    node.op = registry.Find(node.op->name + "_relu");
    node.inputs[SummedOperand(graph_.node(sums))] = gradient.inputs[0];
    node.inputs.push_back(gradient.inputs[1]);
    for (ValueId& input : node.inputs) input = rewriter.At(input);
    std::vector<ValueId> originals = graph_.node(sums).outputs;
    originals.push_back(gradient.outputs[0]);
    std::vector<Value> outputs;
    for (const ValueId original : originals) outputs.push_back(graph_.value(original));
    const NodeId id = rewriter.graph().AddNode(std::move(node), std::move(outputs));
    for (size_t o = 0; o < originals.size(); ++o) rewriter.Map(originals[o], rewriter.graph().node(id).outputs[o]);
  }

  const Graph& graph_;
  std::vector<bool> dropped_;      // by node: the other of a pair
  std::map<NodeId, NodeId> sums_;  // by the relu's gradient
};

}  // namespace

Graph FuseReluSums(Graph graph, const OpRegistry& registry) {
  ReluSumsFusion fusion(graph);
  if (!fusion.Find()) return graph;
  return fusion.Fused(registry);
}

}  // namespace partita
