// Finds how loss and metrics of a set follow from those of its batches (graph/sets/set_results.h).
//
// It follows what every value of the evaluation graph is to the samples of the batch, by the rules of the ops:
//
//   rows      each sample has its own part of the value, which no other sample influences
//   sum       a sum or a mean over samples
//   number    computed from sums, such as their quotient
//   same      no sample influences it, as a parameter
//
// A value that a sum has divided or multiplied (the weights of `over(weights, sum(weights))`) keeps that sum as a
// factor through every op that is linear in it. All else mixes samples, and what reads it is not decided.
#ifndef PARTITA_GRAPH_SETS_FIND_SET_RESULTS_H_
#define PARTITA_GRAPH_SETS_FIND_SET_RESULTS_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "graph/ir/model.h"
#include "graph/ir/op_definition.h"
#include "graph/sets/set_results.h"

namespace partita {

// `on_numbers`: whether the evaluator computes an op on numbers (ops/values/number_op.h). The reported scalars are
// those that ProgramOptions::evaluated takes. kInternal: a size of the graph has other terms than the graph.
absl::StatusOr<SetResults> FindSetResults(const Model& model, const OpRegistry& registry,
                                          const std::function<bool(const std::string& op)>& on_numbers);

}  // namespace partita

#endif  // PARTITA_GRAPH_SETS_FIND_SET_RESULTS_H_
