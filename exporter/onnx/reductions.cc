// Sums, means and maxima over dimensions.
#include <algorithm>
#include <utility>

#include "exporter/onnx/lowering.h"

namespace partita::onnx_export {
namespace {

Lower Over(const char* op) {
  return [op](const Node& node, Emitter& emitter) {
    const ValueId x = node.inputs[0], y = node.outputs[0];
    const bool keeps = node.attributes.Bool("keep_sizes");
    IntList axes = node.attributes.Ints("axes");
    for (size_t d = 0; node.attributes.Ints("axes").empty() && d < emitter.shape(x).size(); ++d) {
      axes.push_back(static_cast<int64_t>(d));
    }
    // Channels first, if that is how x lies and the dimensions that are left do not have to move.
    Order order = emitter.OrderOf(x);
    IntList left, places;
    for (const int d : kChannelsFirstOrder) {
      const bool reduced = std::ranges::find(axes, int64_t{d}) != axes.end();
      if (reduced) places.push_back(std::ranges::find(kChannelsFirstOrder, d) - kChannelsFirstOrder);
      if (!reduced) left.push_back(d);
    }
    if (order == Order::kChannelsFirst && !keeps && !std::ranges::is_sorted(left)) order = Order::kGraph;
    if (order == Order::kGraph) places = axes;
    emitter.Give(y, order, op, {emitter.Get(x, order), emitter.Integers(places)}, {{"keepdims", int64_t{keeps}}});
    return absl::OkStatus();
  };
}

absl::Status RowMaximum(const Node& node, Emitter& emitter) {
  // Opset 18 has the axes as an input of all reductions.
  emitter.Give(node.outputs[0], Order::kGraph, "ReduceMax", {emitter.Get(node.inputs[0]), emitter.Integers({-1})},
               {{"keepdims", int64_t{0}}});
  return absl::OkStatus();
}

}  // namespace

void AddReductions(Lowerings& lowerings) {
  lowerings["mean"] = {Over("ReduceMean"), OrderOfOp::kAny};
  lowerings["row_maximum"] = {RowMaximum};
  lowerings["sum"] = {Over("ReduceSum"), OrderOfOp::kAny};
}

}  // namespace partita::onnx_export
