#include "partitioner/search/placement/placement_blocks.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace partita {
namespace {

// How many ops each op reads, directly or through others.
std::vector<int> CountsBefore(const PlacementGraph& graph) {
  const size_t ops = graph.ops.size();
  std::vector<std::vector<bool>> before(ops, std::vector<bool>(ops, false));
  std::vector<std::vector<int>> into(ops);
  for (const PlacedEdge& edge : graph.edges) into[edge.to].push_back(edge.from);
  std::vector<int> counts;
  for (size_t op = 0; op < ops; ++op) {
    for (const int from : into[op]) {
      before[op][from] = true;
      for (size_t i = 0; i < op; ++i) before[op][i] = before[op][i] || before[from][i];
    }
    counts.push_back(static_cast<int>(std::count(before[op].begin(), before[op].end(), true)));
  }
  return counts;
}

// The same graph with all edges turned round.
PlacementGraph Reversed(const PlacementGraph& graph) {
  const int last = static_cast<int>(graph.ops.size()) - 1;
  PlacementGraph reversed{{graph.ops.rbegin(), graph.ops.rend()}, {}};
  for (const PlacedEdge& edge : graph.edges) reversed.edges.push_back({last - edge.to, last - edge.from, edge.seconds});
  return reversed;
}

// Marks what lies between `first` and `last`, both excluded.
void Forbid(std::vector<bool>& allowed, int first, int last) {
  std::fill(allowed.begin() + std::min(first + 1, last), allowed.begin() + last, false);
}

// Ops that lie together may be on both sides of a border that lies with them.
void ForbidBetween(const PlacementGraph& graph, std::vector<bool>& allowed) {
  std::map<int, int> latest;
  for (int op = 0; op < static_cast<int>(graph.ops.size()); ++op) {
    const int together = graph.ops[op].together;
    if (together < 0) continue;
    if (const auto place = latest.find(together); place != latest.end()) Forbid(allowed, place->second, op);
    latest[together] = op;
  }
}

}  // namespace

std::vector<bool> ComparableToAll(const PlacementGraph& graph) {
  const int others = static_cast<int>(graph.ops.size()) - 1;
  const std::vector<int> before = CountsBefore(graph);
  std::vector<int> after = CountsBefore(Reversed(graph));
  std::reverse(after.begin(), after.end());
  std::vector<bool> comparable;
  for (size_t op = 0; op < before.size(); ++op) comparable.push_back(before[op] + after[op] == others);
  return comparable;
}

std::vector<std::vector<int>> PlacementBlocks(const PlacementGraph& graph) {
  std::vector<bool> border = ComparableToAll(graph);
  ForbidBetween(graph, border);
  for (const PlacedEdge& edge : graph.edges) {
    if (edge.seconds > 0) Forbid(border, edge.from, edge.to);
  }
  std::vector<std::vector<int>> blocks(1);
  for (int op = 0; op < static_cast<int>(graph.ops.size()); ++op) {
    blocks.back().push_back(op);
    if (border[op] && blocks.back().size() > 1) blocks.push_back({op});
  }
  if (blocks.size() > 1 && blocks.back().size() == 1) blocks.pop_back();
  return blocks;
}

PlacementGraph PartOf(const PlacementGraph& graph, const std::vector<int>& ops) {
  PlacementGraph part;
  std::map<int, int> place, value;  // values are numbered anew, so that parts that are alike are equal
  for (const int op : ops) {
    place[op] = static_cast<int>(part.ops.size());
    part.ops.push_back(graph.ops[op]);
  }
  for (const PlacedEdge& edge : graph.edges) {
    const auto from = place.find(edge.from), to = place.find(edge.to);
    if (from == place.end() || to == place.end()) continue;
    const int number = edge.value < 0 ? -1 : value.emplace(edge.value, static_cast<int>(value.size())).first->second;
    part.edges.push_back({from->second, to->second, edge.seconds, number});
  }
  return part;
}

}  // namespace partita
