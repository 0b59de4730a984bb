// Makes the forward graph of evaluation from the user's graph, in which ops that mean something else there say what
// (OpDefinition::in_evaluation). For instance
//
//   before   %y = batch_norm(...)             %z = dropout(%y)
//            %l = softmax_cross_entropy(%z, %labels)
//   after    %y = batch_norm_inference(...)   %@sample_weight = input()
//            %l = softmax_cross_entropy(%y, %labels, %@sample_weight)
//
//   before   %l = softmax_cross_entropy(%z, %labels, %w)
//   after    %l@sample_weight = mul(%w, %@sample_weight)   %l = softmax_cross_entropy(%z, %labels, %l@sample_weight)
//
// A sample weighs batch / samples of the batch, a row that only fills the batch up weighs 0. So a sum over samples that
// the batch divides is a mean over those that are there, and a term of the loss that is none (of the weights, say)
// counts as it is. Where a sample has several rows, each weighs what its sample does. What reads no samples, or mixes
// them, gets no weights.
#ifndef PARTITA_GRAPH_PASSES_PREPARE_EVALUATION_H_
#define PARTITA_GRAPH_PASSES_PREPARE_EVALUATION_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "graph/ir/op_definition.h"

namespace partita {

absl::StatusOr<Graph> PrepareEvaluation(const Graph& forward, const OpRegistry& registry);

// Lets it read moving averages, first of all, in place of what they are averages of:
//
//   before   %w = parameter()                          %y = matmul(%x, %w)
//   after    %w = parameter()   %w@average = state()   %y = matmul(%x, %w@average)
//
// The states that they stand for stay, so that a program that only predicts takes the same files. `states`: those of
// the training graph, by name.
absl::StatusOr<Graph> ReadAverages(Graph forward, const std::map<std::string, Layout>& states,
                                   const OpRegistry& registry);

}  // namespace partita

#endif  // PARTITA_GRAPH_PASSES_PREPARE_EVALUATION_H_
