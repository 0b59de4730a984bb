// Appends the moving averages of an optimizer to a graph that has its updates: of what a user's graph has that changes,
// parameters and running statistics, each where it lies.
//
//   %w@average@new = moving_average(%w@average, %w@new, %@learning_rate, %@apply, _, %@iteration)
//
// They stand behind all updates, so that they can be one launch. Evaluation reads them
// (graph/passes/prepare_evaluation.h).
#ifndef PARTITA_GRAPH_UPDATE_APPEND_AVERAGES_H_
#define PARTITA_GRAPH_UPDATE_APPEND_AVERAGES_H_

#include "absl/status/status.h"
#include "graph/derive/layout_builder.h"
#include "graph/optimizer/optimizer.h"

namespace partita {

// Scalars that updates read.
struct UpdateValues {
  ValueId rate = kNoValue, apply = kNoValue, iteration = kNoValue;
};

// Nothing where the optimizer has none. kInvalidArgument: as of Averaged.
absl::Status AppendAverages(LayoutBuilder& builder, const Optimizer& optimizer, const UpdateValues& scalars);

}  // namespace partita

#endif  // PARTITA_GRAPH_UPDATE_APPEND_AVERAGES_H_
