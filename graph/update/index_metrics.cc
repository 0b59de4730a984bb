#include <algorithm>
#include <compare>
#include <optional>
#include <set>
#include <utility>

#include "graph/ir/gate.h"
#include "graph/ir/op_definition.h"
#include "graph/update/append_update.h"

namespace partita {
namespace {

// Integers that choose among the rows or classes of a tensor of that shape, but for one that is ignored.
struct Index {
  ValueId value;
  Shape shape;
  std::optional<int64_t> ignored;

  auto operator<=>(const Index&) const = default;
};
using Indices = std::set<Index>;

std::set<NodeId> NodesBefore(const Graph& graph, std::vector<ValueId> values) {
  std::set<NodeId> nodes;
  while (!values.empty()) {
    const NodeId id = graph.value(values.back()).producer;
    values.pop_back();
    if (!nodes.insert(id).second) continue;
    for (const ValueId input : graph.node(id).inputs) {
      if (input != kNoValue) values.push_back(input);
    }
  }
  return nodes;
}

// A node whose first input are integers computes with them, as a cast does; other nodes that make floats choose by
// them.
Indices IndicesOf(const Graph& graph, const std::set<NodeId>& nodes) {
  Indices indices;
  for (const NodeId id : nodes) {
    const Node& node = graph.node(id);
    if (!IsFloating(graph.type(node.outputs[0]).dtype)) continue;
    for (const ValueId input : node.inputs) {
      if (input == kNoValue || input == node.inputs[0] || graph.type(input).dtype != DType::kI32) continue;
      Index index{BeforeMoves(graph, input), {}, {}};
      if (node.inputs[0] != kNoValue) index.shape = graph.type(node.inputs[0]).shape;
      if (node.attributes.Has("ignore_index")) index.ignored = node.attributes.Int("ignore_index");
      indices.insert(std::move(index));
    }
  }
  return indices;
}

}  // namespace

std::vector<ValueId> IndexMetrics(const Graph& graph) {
  std::vector<ValueId> losses = {graph.loss};
  for (const FurtherLoss& further : graph.further_losses) losses.push_back(further.value);
  const Indices of_losses = IndicesOf(graph, NodesBefore(graph, losses));
  std::vector<ValueId> metrics;
  for (const ValueId metric : graph.metrics) {
    const Indices own = IndicesOf(graph, NodesBefore(graph, {metric}));
    if (!std::ranges::includes(of_losses, own)) metrics.push_back(metric);
  }
  return metrics;
}

}  // namespace partita
