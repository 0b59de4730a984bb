#include "graph/passes/run_passes.h"

#include "graph/verify/verify_graph.h"
#include "runtime/base/status.h"

namespace partita {

absl::StatusOr<Graph> RunPasses(Graph graph, const std::vector<Pass>& passes, const std::string& entry, bool verify) {
  for (const Pass& pass : passes) {
    ASSIGN_OR_RETURN(graph, pass.apply(std::move(graph)));
    if (!verify && &pass != &passes.back()) continue;
    const absl::Status status = VerifyGraph(graph);
    if (status.ok()) continue;
    const std::string who = verify ? fmt::format("pass '{}'", pass.name) : "one of the passes";
    return Internal("{} of '{}' left a broken graph: {}", who, entry, std::string(status.message()));
  }
  return graph;
}

}  // namespace partita
