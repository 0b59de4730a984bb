// Puts described nodes into the order in which a graph holds them.
#ifndef PARTITA_GRAPH_READ_NODE_ORDER_H_
#define PARTITA_GRAPH_READ_NODE_ORDER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/value/attributes.h"

namespace partita {

// A node as a user wrote it.
struct NodeDescription {
  std::string name;
  std::string op;
  std::vector<std::string> inputs;  // names of nodes; "": an optional input that is absent
  Attributes attributes;            // those that differ from the op's defaults
};

// Topological order of positions in `nodes`: Kahn's, the lowest position first (docs/design.md 5.16). Refuses illegal
// and duplicate names, inputs that name no node, and cycles (a short one is named). No recursion; n log n.
absl::StatusOr<std::vector<int>> OrderNodes(const std::vector<NodeDescription>& nodes);

}  // namespace partita

#endif  // PARTITA_GRAPH_READ_NODE_ORDER_H_
