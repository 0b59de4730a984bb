#include "partitioner/search/placement/two_parts_bound.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace partita {
namespace {

using OpSet = std::vector<bool>;

// By op, those that it waits for.
std::vector<OpSet> Ancestors(const PlacementGraph& graph) {
  const size_t count = graph.ops.size();
  std::vector<std::vector<int>> reads(count);
  for (const PlacedEdge& edge : graph.edges) reads[edge.to].push_back(edge.from);
  std::vector<OpSet> ancestors(count, OpSet(count));
  for (size_t op = 0; op < count; ++op) {
    for (const int from : reads[op]) {
      ancestors[op][from] = true;
      for (size_t other = 0; other < count; ++other) {
        if (ancestors[from][other]) ancestors[op][other] = true;
      }
    }
  }
  return ancestors;
}

}  // namespace

double TwoPartsBound(const PlacementGraph& graph, int first_ops, double first_bound, double second_bound) {
  const std::vector<OpSet> ancestors = Ancestors(graph);
  OpSet follows(static_cast<size_t>(first_ops));
  for (int op = 0; op < first_ops; ++op) {
    follows[op] = std::any_of(ancestors.begin() + first_ops, ancestors.end(), [&](const OpSet& of) { return !of[op]; });
  }
  double others = 0;
  for (int op = 0; op < first_ops; ++op) others += follows[op] ? graph.ops[op].seconds : 0;
  for (const PlacedEdge& edge : graph.edges) {
    if (edge.to < first_ops && follows[edge.to]) others += edge.seconds;
  }
  return std::max(0.0, first_bound - others) + second_bound;
}

}  // namespace partita
