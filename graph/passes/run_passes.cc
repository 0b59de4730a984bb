#include "graph/passes/run_passes.h"

#include "graph/verify/verify_graph.h"
#include "runtime/base/status.h"

namespace partita {

absl::StatusOr<Graph> RunPasses(Graph graph, const std::vector<Pass>& passes, const std::string& entry,
                                const PassOptions& options) {
  for (const Pass& pass : passes) {
    if (!pass.optional || !options.disabled.contains(pass.name)) {
      ASSIGN_OR_RETURN(graph, pass.apply(std::move(graph)));
      if (options.after) options.after(pass.name, entry, graph);
    }
    if (!options.verify && &pass != &passes.back()) continue;
    const absl::Status status = VerifyGraph(graph);
    if (status.ok()) continue;
    const std::string who = options.verify ? fmt::format("pass '{}'", pass.name) : "one of the passes";
    return Internal("{} of '{}' left a broken graph: {}", who, entry, std::string(status.message()));
  }
  return graph;
}

}  // namespace partita
