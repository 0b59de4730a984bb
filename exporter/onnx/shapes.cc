// Ops that move elements or repeat them, and positions.
#include <algorithm>
#include <limits>
#include <utility>

#include "exporter/onnx/lowering.h"
#include "runtime/base/status.h"

namespace partita::onnx_export {
namespace {

// Where a dimension of the graph lies in that order.
int64_t PlaceOf(int64_t dimension, Order order) {
  return order == Order::kGraph ? dimension : std::ranges::find(kChannelsFirstOrder, dimension) - kChannelsFirstOrder;
}

bool Contains(const IntList& axes, int64_t d) { return std::ranges::find(axes, d) != axes.end(); }

absl::Status Concat(const Node& node, Emitter& emitter) {
  const Order order = emitter.OrderOf(node.outputs[0]);
  std::vector<std::string> inputs;
  for (const ValueId input : node.inputs) inputs.push_back(emitter.Get(input, order));
  emitter.Give(node.outputs[0], order, "Concat", std::move(inputs),
               {{"axis", PlaceOf(node.attributes.Int("axis"), order)}});
  return absl::OkStatus();
}

absl::Status Slice(const Node& node, Emitter& emitter) {
  const Order order = emitter.OrderOf(node.outputs[0]);
  const IntList &begin = node.attributes.Ints("begin"), &size = node.attributes.Ints("size");
  const Shape& x = emitter.shape(node.inputs[0]);
  IntList starts, ends, axes;
  for (size_t d = 0; d < x.size(); ++d) {
    if (begin[d] == 0 && (size[d] == -1 || size[d] == x[d])) continue;
    starts.push_back(begin[d]);
    ends.push_back(size[d] == -1 ? std::numeric_limits<int64_t>::max() : begin[d] + size[d]);
    axes.push_back(PlaceOf(static_cast<int64_t>(d), order));
  }
  const std::string read = emitter.Get(node.inputs[0], order);
  if (axes.empty()) {
    emitter.Give(node.outputs[0], order, "Identity", {read});
    return absl::OkStatus();
  }
  emitter.Give(node.outputs[0], order, "Slice",
               {read, emitter.Integers(starts), emitter.Integers(ends), emitter.Integers(axes)});
  return absl::OkStatus();
}

absl::Status Reshape(const Node& node, Emitter& emitter) {
  emitter.Give(node.outputs[0], Order::kGraph, "Reshape",
               {emitter.Get(node.inputs[0]), emitter.Integers(node.attributes.Ints("shape"))});
  return absl::OkStatus();
}

// A transposition between [n,h,w,c] and [n,c,h,w] may be there already.
absl::Status Transpose(const Node& node, Emitter& emitter) {
  const ValueId x = node.inputs[0], y = node.outputs[0];
  const IntList& order = node.attributes.Ints("permutation");
  if (std::ranges::equal(order, kChannelsFirstOrder) && emitter.Has(x, Order::kChannelsFirst)) {
    emitter.Bind(y, Order::kGraph, emitter.Get(x, Order::kChannelsFirst));
    return absl::OkStatus();
  }
  if (std::ranges::equal(order, kGraphOrder) && emitter.Has(x, Order::kGraph)) {
    emitter.Bind(y, Order::kChannelsFirst, emitter.Get(x));
    return absl::OkStatus();
  }
  emitter.Give(y, Order::kGraph, "Transpose", {emitter.Get(x)}, {{"perm", order}});
  return absl::OkStatus();
}

// y gets new dimensions at `axes` of the result, which have its sizes there.
void GiveExpanded(const Node& node, ValueId y, const IntList& axes, Emitter& emitter) {
  const ValueId output = node.outputs[0];
  const Shape& whole = emitter.shape(output);
  Order order = emitter.OrderOf(output);
  IntList places, kept, sizes(whole.size(), 1);
  for (int64_t d = 0; d < static_cast<int64_t>(whole.size()); ++d) {
    if (!Contains(axes, d)) kept.push_back(PlaceOf(d, order));
  }
  if (!std::ranges::is_sorted(kept)) order = Order::kGraph;  // those of y would have to move
  for (const int64_t axis : axes) {
    places.push_back(PlaceOf(axis, order));
    sizes[places.back()] = whole[axis];
  }
  std::ranges::sort(places);
  const std::string wide = emitter.Add("Unsqueeze", {emitter.Get(y), emitter.Integers(places)});
  const bool varies =
      std::ranges::any_of(axes, [&](int64_t axis) { return emitter.Varies(output, static_cast<size_t>(axis)); });
  const std::string shape =
      varies ? emitter.Add("Shape", {emitter.Get(node.inputs[0], order)}) : emitter.Integers(sizes);
  emitter.Give(output, order, "Expand", {wide, shape});
}

absl::Status Expand(const Node& node, Emitter& emitter) {
  GiveExpanded(node, node.inputs[0], node.attributes.Ints("axes"), emitter);
  return absl::OkStatus();
}

absl::Status ExpandLike(const Node& node, Emitter& emitter) {
  GiveExpanded(node, node.inputs[1], node.attributes.Ints("axes"), emitter);
  return absl::OkStatus();
}

absl::Status Positions(const Node& node, Emitter& emitter) {
  const ValueId x = node.inputs[0], output = node.outputs[0];
  const Shape& shape = emitter.shape(x);
  const auto axis = static_cast<size_t>(node.attributes.Int("axis"));
  ASSIGN_OR_RETURN(const ElementType type, ElementTypeOf(emitter.dtype(output)));
  const std::string sizes = emitter.Add("Shape", {emitter.Get(x)});
  const std::string axis_size =
      emitter.Add("Gather", {sizes, emitter.Number(static_cast<double>(axis), DType::kI32)}, {{"axis", int64_t{0}}});
  const std::string zero = emitter.Tensor("zero of 64 bits", kInt64, {}, [] { return std::string(8, '\0'); });
  const std::string one = emitter.Tensor("one of 64 bits", kInt64, {}, [] { return '\1' + std::string(7, '\0'); });
  const std::string range = emitter.Add("Range", {zero, axis_size, one});
  IntList places;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (d != axis) places.push_back(static_cast<int64_t>(d));
  }
  const std::string numbers = emitter.Add("Cast", {range}, {{"to", int64_t{type}}});
  const std::string wide = places.empty() ? numbers : emitter.Add("Unsqueeze", {numbers, emitter.Integers(places)});
  emitter.Give(output, Order::kGraph, "Expand", {wide, sizes});
  return absl::OkStatus();
}

}  // namespace

void AddShapes(Lowerings& lowerings) {
  lowerings["concat"] = {Concat, OrderOfOp::kAny};
  lowerings["expand"] = {Expand};
  lowerings["expand_like"] = {ExpandLike};
  lowerings["positions"] = {Positions};
  lowerings["reshape"] = {Reshape};
  lowerings["slice"] = {Slice, OrderOfOp::kAny};
  lowerings["transpose"] = {Transpose};
}

}  // namespace partita::onnx_export
