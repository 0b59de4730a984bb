#include <algorithm>
#include <set>
#include <utility>

#include "graph/ir/gate.h"
#include "graph/ir/op_definition.h"
#include "graph/update/append_update.h"

namespace partita {
namespace {

// Integers that choose among the rows or classes of a tensor of that shape.
using Indices = std::set<std::pair<ValueId, Shape>>;

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

// Casts compute with integers; other nodes that make floats of them choose by them.
Indices IndicesOf(const Graph& graph, const std::set<NodeId>& nodes) {
  Indices indices;
  for (const NodeId id : nodes) {
    const Node& node = graph.node(id);
    if (node.op->role == Role::kCast || !IsFloating(graph.type(node.outputs[0]).dtype)) continue;
    for (const ValueId input : node.inputs) {
      if (input == kNoValue || graph.type(input).dtype != DType::kI32) continue;
      indices.emplace(BeforeMoves(graph, input),
                      node.inputs[0] == kNoValue ? Shape() : graph.type(node.inputs[0]).shape);
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
