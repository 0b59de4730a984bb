#include "tests/partitioner/papers/layers.h"

#include <optional>
#include <unordered_map>

#include "graph/ir/op_definition.h"
#include "graph/value/node_name.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

LayerImage ImageOf(const Shape& shape) {
  if (shape.size() == 4) return {shape[1], shape[2], shape[3]};
  return {1, 1, Elements(shape) / shape[0]};
}

// Whether it has windows; global pools have one that is the whole image.
bool IsPool(const OpDefinition& op) { return op.name.ends_with("_pool"); }

std::optional<LayerKind> KindOf(const OpDefinition& op) {
  if (op.role == Role::kConvolution) return LayerKind::kConvolution;
  if (op.role == Role::kProduct) return LayerKind::kDense;
  if (IsPool(op)) return LayerKind::kPool;
  return std::nullopt;
}

class ChainReader {
 public:
  explicit ChainReader(const Graph& graph) : graph_(graph) {}

  absl::StatusOr<std::vector<Layer>> Read() {
    for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes().size()); ++id) RETURN_IF_ERROR(Add(id));
    if (layers_.empty()) return InvalidArgument("the graph has no convolution, pool or dense layer; one is needed");
    return std::move(layers_);
  }

 private:
  // What a value is made by, of activations: the number of layers before it, counted from 1.
  absl::Status Add(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.op->role == Role::kInput) return Reached(id, 0);
    std::optional<size_t> depth;
    for (ValueId input : node.inputs) {
      const auto found = input == kNoValue ? depth_.end() : depth_.find(input);
      if (found == depth_.end()) continue;
      if (EndsChain(*node.op)) return absl::OkStatus();
      if (depth) return NotAChain(id);
      depth = found->second;
    }
    if (!depth) return absl::OkStatus();  // a weight, a constant
    const std::optional<LayerKind> kind = KindOf(*node.op);
    if (kind) {
      if (*depth != layers_.size()) return NotAChain(id);
      AddLayer(id, *kind);
      return Reached(id, layers_.size());
    }
    if (node.op->name == "bias" && *depth > 0) {
      layers_[*depth - 1].biases += Elements(graph_.type(node.inputs[1]).shape);
    }
    return Reached(id, *depth);
  }

  static bool EndsChain(const OpDefinition& op) { return op.role == Role::kLoss || op.role == Role::kAccuracy; }

  absl::Status Reached(NodeId id, size_t depth) {
    for (ValueId output : graph_.node(id).outputs) depth_[output] = depth;
    return absl::OkStatus();
  }

  absl::Status NotAChain(NodeId id) const {
    return InvalidArgument("node {} does not follow the layer before it alone; closed forms are of chains of layers",
                           Quoted(graph_.name(id)));
  }

  void AddLayer(NodeId id, LayerKind kind) {
    const Node& node = graph_.node(id);
    Layer layer;
    layer.name = graph_.name(id);
    layer.kind = kind;
    layer.input = kind == LayerKind::kDense && !layers_.empty() ? layers_.back().output
                                                                : ImageOf(graph_.type(node.inputs[0]).shape);
    layer.output = ImageOf(graph_.type(node.outputs[0]).shape);
    if (kind != LayerKind::kPool) AddWeights(node, layer);
    if (kind != LayerKind::kDense) AddWindows(node, layer);
    layers_.push_back(std::move(layer));
  }

  // Every weight is used once for each place of the output.
  void AddWeights(const Node& node, Layer& layer) const {
    layer.weights = Elements(graph_.type(node.inputs[1]).shape);
    layer.multiply_adds = static_cast<double>(layer.weights * layer.output.height * layer.output.width);
  }

  void AddWindows(const Node& node, Layer& layer) const {
    if (!node.attributes.Has("stride")) {  // a global pool
      layer.rows = {layer.input.height, 1, 0};
      layer.columns = {layer.input.width, 1, 0};
      return;
    }
    const IntList& stride = node.attributes.Ints("stride");
    const IntList& padding = node.attributes.Ints("padding");  // top, bottom, left, right
    int64_t height = 0, width = 0;
    if (layer.kind == LayerKind::kPool) {
      height = node.attributes.Ints("kernel")[0];
      width = node.attributes.Ints("kernel")[1];
    } else {
      const Shape& weights = graph_.type(node.inputs[1]).shape;  // OHWI
      const IntList& dilation = node.attributes.Ints("dilation");
      height = dilation[0] * (weights[1] - 1) + 1;
      width = dilation[1] * (weights[2] - 1) + 1;
    }
    layer.rows = {height, stride[0], padding[0]};
    layer.columns = {width, stride[1], padding[2]};
  }

  const Graph& graph_;
  std::unordered_map<ValueId, size_t> depth_;
  std::vector<Layer> layers_;
};

}  // namespace

absl::StatusOr<std::vector<Layer>> LayersOf(const Graph& forward) { return ChainReader(forward).Read(); }

}  // namespace partita
