// The one place that applies passes, so that each can be checked (docs/design.md 5.21).
#ifndef PARTITA_GRAPH_PASSES_RUN_PASSES_H_
#define PARTITA_GRAPH_PASSES_RUN_PASSES_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/graph.h"

namespace partita {

// The changed graph, or an error that the user's graph or strategy is the cause of.
struct Pass {
  std::string name;
  std::function<absl::StatusOr<Graph>(Graph)> apply;
};

// Applies `passes` in their order. The last result is checked (graph/verify/verify_graph.h), with `verify` each one:
// kInternal "pass 'x' of 'train' left a broken graph: node 'y': ...". `entry` is what is made, for that sentence. A
// pass's own errors come through as they are.
absl::StatusOr<Graph> RunPasses(Graph graph, const std::vector<Pass>& passes, const std::string& entry, bool verify);

}  // namespace partita

#endif  // PARTITA_GRAPH_PASSES_RUN_PASSES_H_
