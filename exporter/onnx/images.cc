// Pools and batch norms, which read and give images channels first.
#include <utility>

#include "exporter/onnx/lowering.h"

namespace partita::onnx_export {
namespace {

constexpr Order kFirst = Order::kChannelsFirst;

void GivePool(const char* op, WrittenAttributes attributes, const Node& node, Emitter& emitter) {
  attributes["kernel_shape"] = node.attributes.Ints("kernel");
  attributes["strides"] = node.attributes.Ints("stride");
  attributes["pads"] = PadsOf(node.attributes.Ints("padding"));
  emitter.Give(node.outputs[0], kFirst, op, {emitter.Get(node.inputs[0], kFirst)}, std::move(attributes));
}

absl::Status MaxPool(const Node& node, Emitter& emitter) {
  GivePool("MaxPool", {}, node, emitter);
  return absl::OkStatus();
}

absl::Status AveragePool(const Node& node, Emitter& emitter) {
  GivePool("AveragePool", {{"count_include_pad", int64_t{node.attributes.Bool("count_padding")}}}, node, emitter);
  return absl::OkStatus();
}

absl::Status GlobalAveragePool(const Node& node, Emitter& emitter) {
  const std::string pixels = emitter.Add("GlobalAveragePool", {emitter.Get(node.inputs[0], kFirst)});
  emitter.Give(node.outputs[0], Order::kGraph, "Flatten", {pixels}, {{"axis", int64_t{1}}});
  return absl::OkStatus();
}

// By the running statistics.
absl::Status BatchNorm(const Node& node, Emitter& emitter) {
  std::vector<std::string> inputs = {emitter.Get(node.inputs[0], kFirst)};
  for (size_t i = 1; i < 5; ++i) inputs.push_back(emitter.Get(node.inputs[i]));
  emitter.Give(node.outputs[0], kFirst, "BatchNormalization", std::move(inputs),
               {{"epsilon", static_cast<float>(node.attributes.Float("epsilon"))}});
  return absl::OkStatus();
}

}  // namespace

void AddImages(Lowerings& lowerings) {
  lowerings["average_pool"] = {AveragePool, OrderOfOp::kImages};
  lowerings["batch_norm"] = {BatchNorm, OrderOfOp::kImages};
  lowerings["global_average_pool"] = {GlobalAveragePool, OrderOfOp::kImages};
  lowerings["max_pool"] = {MaxPool, OrderOfOp::kImages};
}

}  // namespace partita::onnx_export
