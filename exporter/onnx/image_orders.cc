#include "exporter/onnx/image_orders.h"

#include <numeric>
#include <set>

#include "exporter/onnx/lowering.h"
#include "graph/ir/op_definition.h"

namespace partita::onnx_export {
namespace {

// Values that lie alike, in sets that grow together.
class Groups {
 public:
  explicit Groups(size_t values) : parents_(values) { std::iota(parents_.begin(), parents_.end(), ValueId{0}); }

  ValueId Find(ValueId value) {
    while (parents_[value] != value) value = parents_[value] = parents_[parents_[value]];
    return value;
  }
  void Join(ValueId a, ValueId b) { parents_[Find(a)] = Find(b); }

 private:
  std::vector<ValueId> parents_;
};

}  // namespace

std::vector<Order> ImageOrders(const Graph& graph) {
  Groups groups(graph.values().size());
  std::set<ValueId> images;
  const auto may_be_image = [&](ValueId value) {
    return value != kNoValue && graph.type(value).shape.size() == 4 &&
           !graph.node(graph.value(value).producer).op->is_state();  // a state is stored in any order
  };
  for (const Node& node : graph.nodes()) {
    const Lowering* const lowering = FindLowering(node.op->name);
    if (lowering == nullptr || lowering->order == OrderOfOp::kGraph) continue;
    const ValueId output = node.outputs[0];
    if (lowering->order == OrderOfOp::kImages) {
      if (may_be_image(node.inputs[0])) images.insert(node.inputs[0]);
      if (may_be_image(output)) images.insert(output);
      continue;
    }
    for (const ValueId input : node.inputs) {
      if (may_be_image(input) && may_be_image(output)) groups.Join(input, output);
    }
  }
  std::set<ValueId> image_groups;
  for (const ValueId image : images) image_groups.insert(groups.Find(image));
  std::vector<Order> orders(graph.values().size(), Order::kGraph);
  for (ValueId value = 0; value < static_cast<ValueId>(orders.size()); ++value) {
    if (image_groups.contains(groups.Find(value))) orders[value] = Order::kChannelsFirst;
  }
  return orders;
}

}  // namespace partita::onnx_export
