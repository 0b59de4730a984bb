// The bytes that the stretches of a network keep for the backward pass and the time they take in the forward pass, on a
// rank of a plan without recomputation.
#ifndef PARTITA_PARTITIONER_REPAIR_RECOMPUTE_TABLES_H_
#define PARTITA_PARTITIONER_REPAIR_RECOMPUTE_TABLES_H_

#include <vector>

#include "graph/ir/graph.h"
#include "graph/schedule/schedule.h"
#include "graph/timeline/timeline.h"
#include "partitioner/repair/stretches.h"
#include "partitioner/search/recompute_search.h"

namespace partita {

// `stretches` of the user's graph, joined where what passes is not kept anyway, or where after fusion more than that
// passes: between the others a block can begin and end at no cost. `entry`, `schedule`, `timeline`: of a training step
// of one rank. Bytes are those in use, without the gaps that an arena has between them. Pure; takes n log n in the
// launches.
struct RecomputeCosts {
  std::vector<Stretch> stretches;
  RecomputeTables tables;  // of them
};
RecomputeCosts RecomputeCostsOf(const Graph& entry, const Schedule& schedule, const RankTimeline& timeline,
                                const std::vector<Stretch>& stretches);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_REPAIR_RECOMPUTE_TABLES_H_
