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

class SmallBatchNormFusion {
 public:
  explicit SmallBatchNormFusion(const Graph& graph) : graph_(graph), readers_(CountReaders(graph)) {}

  // False if there are none.
  bool FindPairs() {
    std::map<ValueId, NodeId> sums;  // the node that makes these statistics, or what they give to the gradient
    for (NodeId id = 0; id < nodes(); ++id) {
      const Node& node = graph_.node(id);
      const std::string& op = node.op->name;
      if (op == "batch_norm_statistics" || op == "batch_norm_gradient_sums") sums[node.outputs[0]] = id;
      const bool forward = op == "batch_norm_normalize";
      if (!forward && op != "batch_norm_input_grad") continue;
      const auto found = sums.find(node.inputs[forward ? 1 : 6]);
      if (found == sums.end() || !(forward ? IsForward(found->second, id) : IsBackward(found->second, id))) continue;
      if (!IsSmall(node.inputs[0])) continue;
      second_of_[found->second] = id;
      dropped_.push_back(id);
      sums.erase(found);
    }
    return !second_of_.empty();
  }

  // The joined node stands where the sums stood.
  Graph Fused(const OpRegistry& registry) const {
    Rewriter rewriter(graph_);
    for (NodeId id = 0; id < nodes(); ++id) {
      if (const auto found = second_of_.find(id); found != second_of_.end()) {
        Append(id, found->second, registry, rewriter);
      } else if (!std::ranges::binary_search(dropped_, id)) {
        rewriter.Copy(id);
      }
    }
    return rewriter.Finish();
  }

 private:
  NodeId nodes() const { return static_cast<NodeId>(graph_.nodes().size()); }

  bool IsForward(NodeId sums, NodeId normalize) const {
    const std::vector<ValueId>&of_sums = graph_.node(sums).inputs, &in = graph_.node(normalize).inputs;
    return of_sums[0] == in[0] && of_sums[1] == in[2] && AreThere(in[3], sums) && AreThere(in[4], sums);
  }

  bool IsBackward(NodeId sums, NodeId input_grad) const {
    const std::vector<ValueId>&of_sums = graph_.node(sums).inputs, &in = graph_.node(input_grad).inputs;
    return std::equal(of_sums.begin(), of_sums.end(), in.begin()) && readers_[in[6]] == 1 &&
           graph_.node(sums).attributes.Bool("relu") == graph_.node(input_grad).attributes.Bool("relu");
  }

  bool AreThere(ValueId value, NodeId before) const { return graph_.value(value).producer < before; }

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

  void Append(NodeId sums, NodeId second, const OpRegistry& registry, Rewriter& rewriter) const {
    const bool forward = graph_.node(second).op->name == "batch_norm_normalize";
    Node node = graph_.node(second);
    node.op = registry.Find(forward ? "batch_norm_forward" : "batch_norm_backward");
    node.inputs.erase(node.inputs.begin() + (forward ? 1 : 6));
    for (ValueId& input : node.inputs) input = rewriter.At(input);
    const std::vector<ValueId>& made = graph_.node(sums).outputs;
    std::vector<ValueId> originals = {graph_.node(second).outputs[0]};
    originals.insert(originals.end(), made.begin() + (forward ? 0 : 1), made.end());
    std::vector<Value> outputs;
    for (const ValueId original : originals) outputs.push_back(graph_.value(original));
    const NodeId id = rewriter.graph().AddNode(std::move(node), std::move(outputs));
    for (size_t o = 0; o < originals.size(); ++o) rewriter.Map(originals[o], rewriter.graph().node(id).outputs[o]);
  }

  const Graph& graph_;
  const std::vector<int> readers_;
  std::map<NodeId, NodeId> second_of_;  // by the node of the sums
  std::vector<NodeId> dropped_;         // rising
};

}  // namespace

Graph FuseSmallBatchNorms(Graph graph, const OpRegistry& registry) {
  SmallBatchNormFusion fusion(graph);
  if (!fusion.FindPairs()) return graph;
  return fusion.Fused(registry);
}

}  // namespace partita
