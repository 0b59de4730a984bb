// Makes the forward graph of evaluation from the user's graph.
//
//   before   %y = batch_norm(...)             %z = dropout(%y)
//            %l = softmax_cross_entropy(%z, %labels)
//   after    %y = batch_norm_inference(...)   %@sample_weight = input()
//            %l = softmax_cross_entropy(%y, %labels, %@sample_weight)
//
// Batch norm takes its running statistics, nothing is dropped, and a 0/1 weight per sample lets every sample count
// exactly once in any batch size (docs/design.md 5.12).
#ifndef PARTITA_GRAPH_PASSES_PREPARE_EVALUATION_H_
#define PARTITA_GRAPH_PASSES_PREPARE_EVALUATION_H_

#include "absl/status/statusor.h"
#include "graph/ir/op_definition.h"

namespace partita {

absl::StatusOr<Graph> PrepareEvaluation(const Graph& forward, const OpRegistry& registry);

}  // namespace partita

#endif  // PARTITA_GRAPH_PASSES_PREPARE_EVALUATION_H_
