#include "partitioner/search/placement/placement_graph.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/status.h"

namespace partita {
namespace {

bool IsCost(double value) { return value >= 0 && std::isfinite(value); }

}  // namespace

absl::Status CheckPlacementGraph(const PlacementGraph& graph) {
  const int ops = static_cast<int>(graph.ops.size());
  for (const PlacedOp& op : graph.ops) {
    if (!IsCost(op.seconds) || !IsCost(op.bytes))
      return InvalidArgument("op '{}' takes {} seconds and {} bytes: both are finite and not below zero", op.op,
                             op.seconds, op.bytes);
  }
  for (const PlacedEdge& edge : graph.edges) {
    if (edge.from < 0 || edge.from >= edge.to || edge.to >= ops)
      return InvalidArgument("an edge goes from op {} to op {}: of {} ops each stands after those that it reads",
                             edge.from, edge.to, ops);
    if (!IsCost(edge.seconds))
      return InvalidArgument("the edge from '{}' to '{}' takes {} seconds: they are finite and not below zero",
                             graph.ops[edge.from].op, graph.ops[edge.to].op, edge.seconds);
  }
  return absl::OkStatus();
}

double SerialSeconds(const PlacementGraph& graph) {
  double seconds = 0;
  for (const PlacedOp& op : graph.ops) seconds += op.seconds;
  return seconds;
}

double FullestBytes(const PlacementGraph& graph, const std::vector<int>& device, int devices) {
  std::vector<double> bytes(devices, 0);
  for (size_t op = 0; op < graph.ops.size(); ++op) bytes[device[op]] += graph.ops[op].bytes;
  return *std::max_element(bytes.begin(), bytes.end());
}

}  // namespace partita
