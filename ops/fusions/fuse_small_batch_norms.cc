#include "ops/fusions/fuse_small_batch_norms.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "graph/ir/rewriter.h"
#include "graph/value/dtype.h"
#include "ops/functors/batch_norm.h"

namespace partita {
namespace {

// The node that makes the sums, and the one that reads them.
struct Pair {
  NodeId sums = -1, second = -1;
};

class SmallBatchNormFusion {
 public:
  explicit SmallBatchNormFusion(const Graph& graph)
      : graph_(graph), readers_(CountReaders(graph)), dropped_(graph.nodes().size(), false) {}

  // False if there are none. Forward the pair stands where the second node stood, for gamma and beta may come late;
  // backward where the first one stood, for what it gives the parameters may be read soon.
  bool FindPairs() {
    std::map<ValueId, NodeId> sums;  // the node that makes these sums, unless another node has read them
    for (NodeId id = 0; id < nodes(); ++id) {
      const Node& node = graph_.node(id);
      const std::string& op = node.op->name;
      const bool forward = IsForward(op);
      if (forward || op == "batch_norm_input_grad") {
        const auto found = sums.find(node.inputs[forward ? 1 : 6]);
        if (found != sums.end() && IsPair(found->second, id, forward) && IsSmall(node.inputs[0])) {
          pairs_[forward ? id : found->second] = {found->second, id};
          dropped_[forward ? found->second : id] = true;
        }
      }
      for (const ValueId input : node.inputs) sums.erase(input);
      const bool makes = op == "batch_norm_statistics" || op.starts_with("batch_norm_gradient_sums");
      if (makes) sums[node.outputs[0]] = id;
    }
    return !pairs_.empty();
  }

  Graph Fused(const OpRegistry& registry) const {
    Rewriter rewriter(graph_);
    for (NodeId id = 0; id < nodes(); ++id) {
      if (const auto found = pairs_.find(id); found != pairs_.end()) {
        Append(found->second, registry, rewriter);
      } else if (!dropped_[id]) {
        rewriter.Copy(id);
      }
    }
    return rewriter.Finish();
  }

 private:
  NodeId nodes() const { return static_cast<NodeId>(graph_.nodes().size()); }

  static bool IsForward(const std::string& op) {
    return op == "batch_norm_normalize" || op == "batch_norm_normalize_add";
  }

  // What the sums leave of the cotangent: behind a relu, what it lets through.
  ValueId CotangentOf(const Node& sums) const { return sums.outputs.size() > 3 ? sums.outputs[3] : sums.inputs[1]; }

  bool IsPair(NodeId sums, NodeId second, bool forward) const {
    const std::vector<ValueId>&of_sums = graph_.node(sums).inputs, &in = graph_.node(second).inputs;
    if (forward) return of_sums[0] == in[0] && of_sums[1] == in[2];
    return of_sums[0] == in[0] && CotangentOf(graph_.node(sums)) == in[1] &&
           std::equal(in.begin() + 2, in.begin() + 6, of_sums.begin() + 2) && readers_[in[6]] == 1 &&
           graph_.node(sums).attributes.Bool("relu") == graph_.node(second).attributes.Bool("relu");
  }

  // Of every rank that holds rows of it.
  bool IsSmall(ValueId x) const {
    const Mesh& mesh = graph_.mesh(x);
    const TensorType& type = graph_.type(x);
    for (int rank = 0; rank < mesh.size(); ++rank) {
      const std::optional<Box> box = LocalBox(graph_.layout(x), type.shape, mesh, rank);
      if (!box) continue;
      int64_t rows = 1;
      for (size_t d = 0; d + 1 < box->size.size(); ++d) rows *= box->size[d];
      if (!IsSmallBatchNorm(rows, SizeOf(type.dtype))) return false;
    }
    return true;
  }

  void Append(const Pair& pair, const OpRegistry& registry, Rewriter& rewriter) const {
    Node node = graph_.node(pair.second);
    const Node& sums = graph_.node(pair.sums);
    const bool forward = IsForward(node.op->name);
    if (forward) {
      node.op = registry.Find(node.inputs.size() > 5 ? "batch_norm_forward_add" : "batch_norm_forward");
      node.inputs.erase(node.inputs.begin() + 1);
    } else {
      node.op = registry.Find(sums.outputs.size() > 3 ? "batch_norm_backward_relu" : "batch_norm_backward");
      node.inputs = sums.inputs;
    }
    for (ValueId& input : node.inputs) input = rewriter.At(input);
    const std::vector<ValueId>& made = sums.outputs;
    std::vector<ValueId> originals = {graph_.node(pair.second).outputs[0]};
    originals.insert(originals.end(), made.begin() + (forward ? 0 : 1), made.end());
    std::vector<Value> outputs;
    for (const ValueId original : originals) outputs.push_back(graph_.value(original));
    const NodeId id = rewriter.graph().AddNode(std::move(node), std::move(outputs));
    for (size_t o = 0; o < originals.size(); ++o) rewriter.Map(originals[o], rewriter.graph().node(id).outputs[o]);
  }

  const Graph& graph_;
  const std::vector<int> readers_;
  std::map<NodeId, Pair> pairs_;  // by where they stand
  std::vector<bool> dropped_;     // by node: the other of a pair
};

}  // namespace

Graph FuseSmallBatchNorms(Graph graph, const OpRegistry& registry) {
  SmallBatchNormFusion fusion(graph);
  if (!fusion.FindPairs()) return graph;
  return fusion.Fused(registry);
}

}  // namespace partita
