// Appends the optimizer to a partitioned graph that has its backward nodes: one update node per parameter, the learning
// rate as a function of the iteration, clipping by the global norm, and whether the step is applied at all.
//
// That is one scalar for all ranks (Graph::apply): the losses are finite, with clipping the norm is, and so are metrics
// that alone read some labels (IndexMetrics). Every node that updates a state reads it (InputDefinition::gate;
// docs/design.md 5.24). Those that the forward pass has for it, as running statistics, are put behind it:
//
//   before   %m@new, ... = batch_norm_running(%s, %m, %v, _)      ... loss, backward
//   after    ... loss, backward   %@apply = all_finite(%l, _)     %m@new, ... = batch_norm_running(%s, %m, %v, %@apply)
//
// Parameters of a group that has a clip norm are clipped by the norm of their own gradients; `apply` reads all norms.
//
// A table that has a gradient by rows (graph/derive/row_gradients.h) is updated where it lies by the op that is called
// as the optimizer's with `_rows` behind: rows that no id chose stay as they are.
//
// The optimizer's definition says which op updates and which slots it keeps beside a parameter
// (graph/optimizer/optimizer.h). A rule with norms has two phases. Each rank squares its part of both tensors, the
// ranks add these sums up in one bucket, and the second phase reads the totals:
//
//   before   %g (gradient of %w)
//   after    %d, %m', %v' = lamb_direction(%w, %g, %m, %v, ...)   %ws = sum_of_squares(%w)   %ds = sum_of_squares(%d)
//            %ws.r, %ds.r = all_reduce(%ws, %ds)                  %w' = lamb(%w, %d, %rate, %apply, %ws.r, %ds.r)
//
// Clipping scales a gradient before its first phase. The clip norm is summed over all parameters
// (graph/update/update_nodes.h).
//
// A step that reports the norm of all gradients has the sum of their squares as its last metric: of the gradients as
// they are before they are clipped, with the scales of their groups.
#ifndef PARTITA_GRAPH_UPDATE_APPEND_UPDATE_H_
#define PARTITA_GRAPH_UPDATE_APPEND_UPDATE_H_

#include <map>
#include <vector>

#include "absl/status/status.h"
#include "graph/derive/layout_builder.h"
#include "graph/derive/row_gradients.h"
#include "graph/ir/model.h"
#include "graph/update/gradient_norm.h"

namespace partita {

// Metrics that are the only ones to read some labels, ids or lengths, in the order of Graph::metrics. An integer that
// is out of range makes NaN of what is computed from it; where no loss reads it, the metric has to keep the step from
// being applied. Integers that a loss reads for a tensor of the same shape are in range for both or for neither.
std::vector<ValueId> IndexMetrics(const Graph& graph);

// `gradients`: of AppendAdjoint; the graph has a loss. A gradient that does not lie as its parameter does is updated
// where it lies (sharded optimizer state, docs/derivation.md 4.5) and the new parameter is moved back.
// kInvalidArgument: as of CompleteOptimizer, GroupsOf and Averaged; the optimizer cannot update rows. kInternal: a node
// updates a state and has no gate.
absl::Status AppendUpdate(LayoutBuilder& builder, const std::map<ValueId, ValueId>& gradients,
                          const std::map<ValueId, RowGradient>& by_rows, const Optimizer& optimizer,
                          const LearningRate& rate, ValueId iteration, GradientNorm norm);

}  // namespace partita

#endif  // PARTITA_GRAPH_UPDATE_APPEND_UPDATE_H_
