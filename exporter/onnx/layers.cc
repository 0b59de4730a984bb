// Tables, norms of rows and softmaxes.
#include <utility>

#include "exporter/onnx/lowering.h"

namespace partita::onnx_export {
namespace {

absl::Status Embedding(const Node& node, Emitter& emitter) {
  const ValueId output = node.outputs[0];
  const int64_t padding = node.attributes.Int("padding_row");
  std::vector<std::string> inputs = {emitter.Get(node.inputs[0]), emitter.Get(node.inputs[1])};
  if (padding < 0) {
    emitter.Give(output, Order::kGraph, "Gather", std::move(inputs), {{"axis", int64_t{0}}});
    return absl::OkStatus();
  }
  const std::string is_padding = emitter.Add("Equal", {inputs[1], emitter.Number(double(padding), DType::kI32)});
  const std::string mask = emitter.Add("Unsqueeze", {is_padding, emitter.Integers({-1})});
  const std::string rows = emitter.Add("Gather", std::move(inputs), {{"axis", int64_t{0}}});
  emitter.Give(output, Order::kGraph, "Where", {mask, emitter.Number(0, emitter.dtype(output)), rows});
  return absl::OkStatus();
}

absl::Status LayerNorm(const Node& node, Emitter& emitter) {
  emitter.Give(node.outputs[0], Order::kGraph, "LayerNormalization",
               {emitter.Get(node.inputs[0]), emitter.Get(node.inputs[1]), emitter.Get(node.inputs[2])},
               {{"axis", int64_t{-1}}, {"epsilon", static_cast<float>(node.attributes.Float("epsilon"))}});
  return absl::OkStatus();
}

Lower OverClasses(const char* op) {
  return [op](const Node& node, Emitter& emitter) {
    const Order order = emitter.OrderOf(node.outputs[0]);
    emitter.Give(node.outputs[0], order, op, {emitter.Get(node.inputs[0], order)},
                 {{"axis", order == Order::kGraph ? int64_t{-1} : int64_t{1}}});
    return absl::OkStatus();
  };
}

}  // namespace

void AddLayers(Lowerings& lowerings) {
  lowerings["embedding"] = {Embedding};
  lowerings["layer_norm"] = {LayerNorm};
  lowerings["log_softmax"] = {OverClasses("LogSoftmax"), OrderOfOp::kAny};
  lowerings["softmax"] = {OverClasses("Softmax"), OrderOfOp::kAny};
}

}  // namespace partita::onnx_export
