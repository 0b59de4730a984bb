// Puts the nodes of a training graph into the order in which micro-batches pass through the stages
// (graph/derive/pipeline.h).
//
//   before   f@micro0 f@micro1 b@micro1 b@micro0 update
//   after    f@micro0 b@micro0 f@micro1 b@micro1 update                      (one stage, 1f1b)
//
// A node's stage is its coordinate on the stage axis, or the index of its mesh among those of the stages; without these
// there is one stage. A node always follows its inputs, so this order changes time and memory but no result. All ranks
// share one order, which is also that of the collectives.
//
// A single number of a micro-batch's inputs, such as a count of its labels, comes before all tasks: the loss divides by
// the sum over all micro-batches, and the first backward pass would otherwise wait for the last forward pass.
//
// In the order `local` no stage waits for a later one before the update: a graph in which a gradient comes back is
// refused.
#ifndef PARTITA_GRAPH_PASSES_ORDER_PIPELINE_H_
#define PARTITA_GRAPH_PASSES_ORDER_PIPELINE_H_

#include "absl/status/statusor.h"
#include "graph/derive/strategy.h"
#include "graph/ir/graph.h"

namespace partita {

// kInvalidArgument: a stage reads what a later stage computes in the forward phase (a cycle of stages); both nodes are
// named. Or, in the order `local`, a gradient that goes to an earlier stage.
absl::StatusOr<Graph> OrderPipeline(const Graph& graph, const Pipeline& pipeline);

}  // namespace partita

#endif  // PARTITA_GRAPH_PASSES_ORDER_PIPELINE_H_
