#include "graph/passes/run_passes.h"

#include "graph/verify/verify_graph.h"
#include "runtime/base/status.h"

namespace partita {

absl::StatusOr<Graph> RunPasses(Graph graph, const std::vector<Pass>& passes, const std::string& entry, bool verify) {
  for (const Pass& pass : passes) {
    ASSIGN_OR_RETURN(graph, pass.apply(std::move(graph)));
    if (!verify) continue;
    const absl::Status status = VerifyGraph(graph);
    if (status.ok()) continue;
    return Internal("pass '{}' of '{}' left a broken graph: {}", pass.name, entry, std::string(status.message()));
  }
  return graph;
}

}  // namespace partita
