#include "partitioner/search/placement/solve_placement.h"

#include <algorithm>

#include "partitioner/search/placement/placement_program.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr double kTolerance = 1e-6;

// No order without idle time for everything ends later.
double LatestEnd(const PlacementGraph& graph, int devices) {
  double end = SerialSeconds(graph);
  for (const PlacedEdge& edge : graph.edges) end += devices * edge.seconds;
  return end;
}

}  // namespace

absl::StatusOr<BlockPlacement> SolvePlacement(const PlacementGraph& graph, const PlacementLimits& limits,
                                              const BlockPlacement& known, const ProgramSolver& solver) {
  const bool is_known = !known.placement.device.empty();
  const PlacementProgram program(graph, limits, is_known ? known.seconds : LatestEnd(graph, limits.devices));
  ASSIGN_OR_RETURN(const ProgramSolution solution, solver(program.text()));
  const bool is_found = !solution.values.empty();
  if (is_known && !is_found && solution.proven)
    return Internal("the solver says that there is no placement of {} ops, but one is known", graph.ops.size());
  BlockPlacement best = known;
  if (is_found) {
    ASSIGN_OR_RETURN(BlockPlacement found, program.PlacementOf(solution.values));
    const bool fits = FullestBytes(graph, found.placement.device, limits.devices) <= limits.bytes;
    found.lower_bound = known.lower_bound;
    if (fits && (!is_known || found.seconds < known.seconds)) best = std::move(found);
  }
  const double bound = program.SecondsOf(solution.lower_bound);
  best.proven = known.proven || (solution.proven && (!is_found || best.seconds <= bound * (1 + kTolerance)));
  best.lower_bound = best.proven ? best.seconds : std::min(best.seconds, std::max(best.lower_bound, bound));
  return best;
}

}  // namespace partita
