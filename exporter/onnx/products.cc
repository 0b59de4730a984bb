// Convolutions and products of matrices, with the biases behind them.
#include <utility>

#include "exporter/onnx/lowering.h"
#include "graph/ir/op_definition.h"
#include "runtime/base/status.h"

namespace partita::onnx_export {
namespace {

constexpr Order kFirst = Order::kChannelsFirst;

bool IsMatrix(ValueId value, const Emitter& emitter) { return emitter.shape(value).size() == 2; }

// The bias that alone reads a product. It becomes part of it where ONNX has products with a bias.
const Node* BiasOf(const Node& node, const Emitter& emitter) {
  const bool may_have_one =
      node.op->name == "conv2d" || (node.op->name == "matmul" && IsMatrix(node.inputs[0], emitter));
  const Node* const reader = may_have_one ? emitter.OnlyReader(node.outputs[0]) : nullptr;
  const bool is_bias = reader != nullptr && reader->op->name == "bias" && reader->inputs[0] == node.outputs[0];
  return is_bias ? reader : nullptr;
}

// A value with its last two dimensions exchanged.
std::string Turned(ValueId value, Emitter& emitter) {
  IntList order;
  for (size_t d = 0; d < emitter.shape(value).size(); ++d) order.push_back(static_cast<int64_t>(d));
  std::swap(order[order.size() - 2], order.back());
  return emitter.Add("Transpose", {emitter.Get(value)}, {{"perm", order}});
}

std::string Factor(ValueId value, bool turned, Emitter& emitter) {
  return turned ? Turned(value, emitter) : emitter.Get(value);
}

// With a bias, if there is one.
void GiveConvolution(const Node& node, const Node* bias, Emitter& emitter) {
  const Shape& weights = emitter.shape(node.inputs[1]);
  std::vector<std::string> inputs = {emitter.Get(node.inputs[0], kFirst), emitter.Get(node.inputs[1], kFirst)};
  if (bias != nullptr) inputs.push_back(emitter.Get(bias->inputs[1]));
  emitter.Give((bias != nullptr ? *bias : node).outputs[0], kFirst, "Conv", std::move(inputs),
               {{"kernel_shape", IntList{weights[1], weights[2]}},
                {"strides", node.attributes.Ints("stride")},
                {"pads", PadsOf(node.attributes.Ints("padding"))},
                {"dilations", node.attributes.Ints("dilation")},
                {"group", node.attributes.Int("groups")}});
}

void GiveGemm(const Node& node, const Node* bias, Emitter& emitter) {
  std::vector<std::string> inputs = {emitter.Get(node.inputs[0]), emitter.Get(node.inputs[1])};
  if (bias != nullptr) inputs.push_back(emitter.Get(bias->inputs[1]));
  emitter.Give((bias != nullptr ? *bias : node).outputs[0], Order::kGraph, "Gemm", std::move(inputs),
               {{"transA", int64_t{node.attributes.Bool("transpose_x")}},
                {"transB", int64_t{node.attributes.Bool("transpose_w")}}});
}

absl::Status Convolution(const Node& node, Emitter& emitter) {
  if (BiasOf(node, emitter) == nullptr) GiveConvolution(node, nullptr, emitter);
  return absl::OkStatus();
}

absl::Status MatMul(const Node& node, Emitter& emitter) {
  if (BiasOf(node, emitter) != nullptr) return absl::OkStatus();
  if (IsMatrix(node.inputs[0], emitter)) {
    GiveGemm(node, nullptr, emitter);
    return absl::OkStatus();
  }
  if (node.attributes.Bool("transpose_x")) {
    return InvalidArgument("its x has 3 dimensions and is transposed; reshape it to 2 dimensions");
  }
  emitter.Give(node.outputs[0], Order::kGraph, "MatMul",
               {emitter.Get(node.inputs[0]), Factor(node.inputs[1], node.attributes.Bool("transpose_w"), emitter)});
  return absl::OkStatus();
}

absl::Status BatchMatMul(const Node& node, Emitter& emitter) {
  emitter.Give(node.outputs[0], Order::kGraph, "MatMul",
               {Factor(node.inputs[0], node.attributes.Bool("transpose_x"), emitter),
                Factor(node.inputs[1], node.attributes.Bool("transpose_y"), emitter)});
  return absl::OkStatus();
}

absl::Status Bias(const Node& node, Emitter& emitter) {
  const Node& before = emitter.graph().node(emitter.graph().value(node.inputs[0]).producer);
  const ValueId output = node.outputs[0];
  if (BiasOf(before, emitter) == &node) {
    (before.op->name == "conv2d" ? GiveConvolution : GiveGemm)(before, &node, emitter);
    return absl::OkStatus();
  }
  const Order order = emitter.OrderOf(output);
  emitter.Give(
      output, order, "Add",
      {emitter.Get(node.inputs[0], order), emitter.Operand(node.inputs[1], emitter.shape(output).size(), order)});
  return absl::OkStatus();
}

}  // namespace

IntList PadsOf(const IntList& padding) { return {padding[0], padding[2], padding[1], padding[3]}; }

void AddProducts(Lowerings& lowerings) {
  lowerings["batch_matmul"] = {BatchMatMul};
  lowerings["bias"] = {Bias, OrderOfOp::kAny};
  lowerings["conv2d"] = {Convolution, OrderOfOp::kImages};
  lowerings["matmul"] = {MatMul};
}

}  // namespace partita::onnx_export
