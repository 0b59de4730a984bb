#include "graph/read/node_order.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <string_view>
#include <unordered_map>

#include "graph/value/node_name.h"
#include "runtime/base/check.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

using Positions = std::unordered_map<std::string_view, int>;
using Edges = std::vector<std::vector<int>>;  // per node, positions of other nodes

absl::StatusOr<Positions> IndexNames(const std::vector<NodeDescription>& nodes) {
  Positions positions;
  positions.reserve(nodes.size());
  for (int i = 0; i < static_cast<int>(nodes.size()); ++i) {
    RETURN_IF_ERROR(WithContext(fmt::format("node {} of the file", i + 1), CheckNodeName(nodes[i].name)));
    const auto [first, fresh] = positions.emplace(nodes[i].name, i);
    if (!fresh) {
      return InvalidArgument("node {}: the name is taken twice, by nodes {} and {} of the file; names are unique",
                             Quoted(nodes[i].name), first->second + 1, i + 1);
    }
  }
  return positions;
}

absl::Status UnknownInput(const std::vector<NodeDescription>& nodes, const NodeDescription& node, size_t input) {
  constexpr size_t kCompared = 4096;  // enough to catch a slip of the pen, little enough for any graph
  std::vector<std::string> names;
  for (size_t i = 0; i < nodes.size() && i < kCompared; ++i) names.push_back(nodes[i].name);
  return InvalidArgument("node {}: input {} is {}, which no node is called{}", Quoted(node.name), input + 1,
                         Quoted(node.inputs[input]), Suggestion(node.inputs[input], names));
}

absl::StatusOr<Edges> ResolveInputs(const std::vector<NodeDescription>& nodes, const Positions& positions) {
  Edges inputs(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (size_t j = 0; j < nodes[i].inputs.size(); ++j) {
      if (nodes[i].inputs[j].empty()) continue;
      auto found = positions.find(nodes[i].inputs[j]);
      if (found == positions.end()) return UnknownInput(nodes, nodes[i], j);
      inputs[i].push_back(found->second);
    }
  }
  return inputs;
}

std::vector<int> Kahn(const Edges& inputs) {
  const int size = static_cast<int>(inputs.size());
  Edges consumers(size);
  std::vector<int> missing(size);
  std::priority_queue<int, std::vector<int>, std::greater<int>> ready;
  for (int node = 0; node < size; ++node) {
    missing[node] = static_cast<int>(inputs[node].size());
    for (int input : inputs[node]) consumers[input].push_back(node);
    if (inputs[node].empty()) ready.push(node);
  }
  std::vector<int> order;
  while (!ready.empty()) {
    const int node = ready.top();
    ready.pop();
    order.push_back(node);
    for (int consumer : consumers[node]) {
      if (--missing[consumer] == 0) ready.push(consumer);
    }
  }
  return order;
}

// A node on a cycle: every node that is left has an input that is left, so walking along them must come round.
int OnCycle(const Edges& inputs, const std::vector<bool>& left) {
  int node = static_cast<int>(std::find(left.begin(), left.end(), true) - left.begin());
  std::vector<bool> seen(inputs.size());
  while (!seen[node]) {
    seen[node] = true;
    node = *std::find_if(inputs[node].begin(), inputs[node].end(), [&](int input) { return left[input]; });
  }
  return node;
}

// The shortest cycle through `start`, by breadth-first search against the edges: each node reads the one before it.
std::vector<int> ShortestCycle(const Edges& inputs, int start) {
  constexpr int kUnseen = -1;
  std::vector<int> reader(inputs.size(), kUnseen);
  std::queue<int> frontier;
  frontier.push(start);
  while (reader[start] == kUnseen) {
    CHECK(!frontier.empty());
    const int node = frontier.front();
    frontier.pop();
    for (int input : inputs[node]) {
      if (reader[input] != kUnseen) continue;
      reader[input] = node;
      frontier.push(input);
    }
  }
  std::vector<int> cycle = {start};
  for (int node = reader[start]; node != start; node = reader[node]) cycle.push_back(node);
  return cycle;
}

absl::Status CycleError(const std::vector<NodeDescription>& nodes, const Edges& inputs, const std::vector<int>& order) {
  constexpr size_t kShown = 8;
  std::vector<bool> left(nodes.size(), true);
  for (int node : order) left[node] = false;
  const std::vector<int> cycle = ShortestCycle(inputs, OnCycle(inputs, left));
  std::string path;
  for (size_t i = 0; i < cycle.size() && i < kShown; ++i) path += Quoted(nodes[cycle[i]].name) + " -> ";
  if (cycle.size() > kShown) path += "... -> ";
  path += Quoted(nodes[cycle[0]].name);
  return InvalidArgument("the graph has a cycle of {} nodes: {}; a node may only read nodes that do not depend on it",
                         cycle.size(), path);
}

}  // namespace

absl::StatusOr<std::vector<int>> OrderNodes(const std::vector<NodeDescription>& nodes) {
  ASSIGN_OR_RETURN(const Positions positions, IndexNames(nodes));
  ASSIGN_OR_RETURN(const Edges inputs, ResolveInputs(nodes, positions));
  std::vector<int> order = Kahn(inputs);
  if (order.size() < nodes.size()) return CycleError(nodes, inputs, order);
  return order;
}

}  // namespace partita
