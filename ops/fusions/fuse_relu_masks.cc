#include "ops/fusions/fuse_relu_masks.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "graph/ir/rewriter.h"
#include "ops/functors/relu_mask.h"

namespace partita {
namespace {

class ReluMaskFusion {
 public:
  explicit ReluMaskFusion(const Graph& graph)
      : graph_(graph), product_of_(nodes(), -1), masked_(nodes()), joined_(nodes()) {}

  // False if there are none.
  bool FindGradients() {
    const std::vector<int> readers = CountReaders(graph_);
    bool any = false;
    for (NodeId id = 0; id < nodes(); ++id) {
      const Node& node = graph_.node(id);
      if (node.op->name != "relu_grad" || readers[node.inputs[0]] != 1) continue;
      const NodeId product = graph_.value(node.inputs[0]).producer, relu = graph_.value(node.inputs[1]).producer;
      if (!IsProduct(product) || !IsRelu(relu) || !LieAlike(node)) continue;
      product_of_[id] = product;
      masked_[relu] = joined_[product] = any = true;
    }
    return any;
  }

  Graph Fused(const OpRegistry& registry) const {
    Rewriter rewriter(graph_);
    std::vector<ValueId> masks(graph_.values().size(), kNoValue);  // by the result of a relu
    for (NodeId id = 0; id < nodes(); ++id) {
      if (masked_[id]) {
        masks[graph_.node(id).outputs[0]] = AppendRelu(id, registry, rewriter);
      } else if (product_of_[id] >= 0) {
        AppendGradient(id, masks[graph_.node(id).inputs[1]], registry, rewriter);
      } else if (!joined_[id]) {
        rewriter.Copy(id);
      }
    }
    return rewriter.Finish();
  }

 private:
  NodeId nodes() const { return static_cast<NodeId>(graph_.nodes().size()); }

  bool IsProduct(NodeId id) const { return graph_.node(id).op->name == "matmul"; }

  bool IsRelu(NodeId id) const {
    const Node& node = graph_.node(id);
    return node.op->name == "matmul_epilogue" && node.attributes.String("activation") == "relu";
  }

  // The cotangent, the relu's result and the gradient, in whole rows.
  bool LieAlike(const Node& gradient) const {
    const Layout& dy = graph_.layout(gradient.inputs[0]);
    const int channels = static_cast<int>(graph_.type(gradient.inputs[0]).shape.size()) - 1;
    const auto cuts = [channels](const AxisLayout& axis) {
      return axis.partial() || (axis.kind == AxisLayout::Kind::kSplit && axis.dimension == channels);
    };
    return dy == graph_.layout(gradient.inputs[1]) && dy == graph_.layout(gradient.outputs[0]) &&
           std::ranges::none_of(dy, cuts);
  }

  // The mask.
  ValueId AppendRelu(NodeId id, const OpRegistry& registry, Rewriter& rewriter) const {
    Node node = graph_.node(id);
    node.op = registry.Find("matmul_relu_mask");
    for (ValueId& input : node.inputs) input = rewriter.At(input);
    std::vector<Value> outputs = rewriter.Outputs(id);
    Value mask = outputs[0];
    mask.name += "@mask";
    mask.type.dtype = DType::kU8;
    mask.type.shape.back() = MaskBytes(mask.type.shape.back());
    outputs.push_back(std::move(mask));
    const NodeId copy = rewriter.graph().AddNode(std::move(node), std::move(outputs));
    rewriter.Map(graph_.node(id).outputs[0], rewriter.graph().node(copy).outputs[0]);
    return rewriter.graph().node(copy).outputs[1];
  }

  void AppendGradient(NodeId id, ValueId mask, const OpRegistry& registry, Rewriter& rewriter) const {
    Node node = graph_.node(product_of_[id]);
    node.op = registry.Find("matmul_relu_grad");
    for (ValueId& input : node.inputs) input = rewriter.At(input);
    node.inputs.push_back(mask);
    rewriter.Replace(id, std::move(node));
  }

  const Graph& graph_;
  std::vector<NodeId> product_of_;  // by relu_grad: what makes its cotangent; -1: it stays as it is
  std::vector<bool> masked_;        // by relu: its mask is read
  std::vector<bool> joined_;        // by product: it is a part of a gradient
};

}  // namespace

Graph FuseReluMasks(Graph graph, const OpRegistry& registry) {
  ReluMaskFusion fusion(graph);
  if (!fusion.FindGradients()) return graph;
  return fusion.Fused(registry);
}

}  // namespace partita
