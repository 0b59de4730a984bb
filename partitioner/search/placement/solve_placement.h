// The best placement of a graph by a solver of integer programs.
#ifndef PARTITA_PARTITIONER_SEARCH_PLACEMENT_SOLVE_PLACEMENT_H_
#define PARTITA_PARTITIONER_SEARCH_PLACEMENT_SOLVE_PLACEMENT_H_

#include "absl/status/statusor.h"
#include "partitioner/search/placement/block_placement.h"
#include "partitioner/search/placement/program_solver.h"

namespace partita {

// The better of what is known and what the solver finds, with the higher of both bounds. `known`: a placement within
// the limits, which the solver need not find again; without devices there is none. What is proven is so to a millionth
// of the step. Errors are the solver's; kInternal: its answer is no placement.
absl::StatusOr<BlockPlacement> SolvePlacement(const PlacementGraph& graph, const PlacementLimits& limits,
                                              const BlockPlacement& known, const ProgramSolver& solver);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_SEARCH_PLACEMENT_SOLVE_PLACEMENT_H_
