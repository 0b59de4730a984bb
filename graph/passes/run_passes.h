// The one place that applies passes, so that each can be checked (docs/design.md 5.21).
#ifndef PARTITA_GRAPH_PASSES_RUN_PASSES_H_
#define PARTITA_GRAPH_PASSES_RUN_PASSES_H_

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/graph.h"

namespace partita {

// The changed graph, or an error that the user's graph or strategy is the cause of.
struct Pass {
  std::string name;
  std::function<absl::StatusOr<Graph>(Graph)> apply;
  bool optional = false;  // it changes how fast the graph is computed, not what it computes
};

struct PassOptions {
  bool verify = false;                  // check the graph after each pass
  std::set<std::string> disabled = {};  // optional passes that are skipped
  // Called after each pass that ran, with its name, `entry` and the graph. May be null.
  std::function<void(const std::string& pass, const std::string& entry, const Graph& graph)> after = nullptr;
};

// Applies `passes` in their order. The last result is checked (graph/verify/verify_graph.h), with `verify` each one:
// kInternal "pass 'x' of 'train' left a broken graph: node 'y': ...". `entry` is what is made, for that sentence. A
// pass's own errors come through as they are.
absl::StatusOr<Graph> RunPasses(Graph graph, const std::vector<Pass>& passes, const std::string& entry,
                                const PassOptions& options);

}  // namespace partita

#endif  // PARTITA_GRAPH_PASSES_RUN_PASSES_H_
