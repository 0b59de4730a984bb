#include "ops/fusions/fuse_normalize_add.h"

#include <map>
#include <utility>
#include <vector>

#include "graph/ir/rewriter.h"

namespace partita {
namespace {

// A batch norm and what is added to it. `last`: the relu, or the sum if no relu joins.
struct Sum {
  NodeId normalize = -1, add = -1, last = -1;
  ValueId residual = kNoValue;
};

class NormalizeAddFusion {
 public:
  explicit NormalizeAddFusion(const Graph& graph)
      : graph_(graph),
        readers_(CountReaders(graph)),
        relu_of_(graph.values().size(), -1),
        dropped_(graph.nodes().size(), false) {}

  // False if there is nothing to join.
  bool Find() {
    for (NodeId id = 0; id < nodes(); ++id) {
      if (graph_.node(id).op->name == "relu") relu_of_[graph_.node(id).inputs[0]] = id;
    }
    for (NodeId id = 0; id < nodes(); ++id) {
      if (graph_.node(id).op->name == "add") FindSum(id);
    }
    return !sums_.empty();
  }

  Graph Fused(const OpRegistry& registry) const {
    Rewriter rewriter(graph_);
    for (NodeId id = 0; id < nodes(); ++id) {
      if (const auto found = sums_.find(id); found != sums_.end()) {
        Append(found->second, registry, rewriter);
      } else if (!dropped_[id]) {
        rewriter.Copy(id);
      }
    }
    return rewriter.Finish();
  }

 private:
  NodeId nodes() const { return static_cast<NodeId>(graph_.nodes().size()); }

  bool Alike(ValueId a, ValueId b) const {
    return graph_.type(a) == graph_.type(b) && graph_.layout(a) == graph_.layout(b) && graph_.mesh(a) == graph_.mesh(b);
  }

  // The normalize, without a relu of its own, whose result no other node reads; -1: there is none.
  NodeId SoleNormalize(ValueId value) const {
    const NodeId producer = graph_.value(value).producer;
    const Node& node = graph_.node(producer);
    const bool is = node.op->name == "batch_norm_normalize" && !node.attributes.Bool("relu");
    return is && readers_[value] == 1 ? producer : -1;
  }

  // Of two batch norms the later one joins: the other's result is there before it. The joined node stands where the
  // normalize stood, unless what is added comes later.
  void FindSum(NodeId add) {
    const Node& node = graph_.node(add);
    if (node.inputs.size() != 2 || !Alike(node.inputs[0], node.inputs[1])) return;
    const bool first = SoleNormalize(node.inputs[0]) > SoleNormalize(node.inputs[1]);
    Sum sum{SoleNormalize(node.inputs[first ? 0 : 1]), add, add, node.inputs[first ? 1 : 0]};
    if (sum.normalize < 0 || !Alike(node.outputs[0], sum.residual)) return;
    if (readers_[node.outputs[0]] == 1 && relu_of_[node.outputs[0]] >= 0) sum.last = relu_of_[node.outputs[0]];
    dropped_[sum.normalize] = dropped_[sum.add] = dropped_[sum.last] = true;
    sums_[graph_.value(sum.residual).producer < sum.normalize ? sum.normalize : sum.last] = sum;
  }

  void Append(const Sum& sum, const OpRegistry& registry, Rewriter& rewriter) const {
    Node node = graph_.node(sum.normalize);
    node.op = registry.Find("batch_norm_normalize_add");
    node.attributes.Set("relu", sum.last != sum.add);
    node.inputs.push_back(sum.residual);
    for (ValueId& input : node.inputs) input = rewriter.At(input);
    rewriter.Replace(sum.last, std::move(node));
  }

  const Graph& graph_;
  const std::vector<int> readers_;
  std::vector<NodeId> relu_of_;  // by value
  std::vector<bool> dropped_;    // by node: another one takes its place
  std::map<NodeId, Sum> sums_;   // by where they stand
};

}  // namespace

Graph FuseNormalizeAdd(Graph graph, const OpRegistry& registry) {
  NormalizeAddFusion fusion(graph);
  if (!fusion.Find()) return graph;
  return fusion.Fused(registry);
}

}  // namespace partita
