// Takes a softmax apart where the strategy splits its classes, so that each piece has layouts of its own.
//
//   before   %l = softmax_cross_entropy(%x, %y, _)
//   after    %l@maximum = row_maximum(%x)
//            %l@exponentials = row_exponentials(%x, %l@maximum)
//            %l = cross_entropy(%x, %y, _, %l@maximum, %l@exponentials)
//
// and %y = log_softmax(%x) likewise, with %y = log_softmax_normalize(%x, %y@maximum, %y@exponentials). The names make
// the strategy's word for %l hold for all three (graph/partition.h): split by "classes" the maximum is P(max), the sum
// of exponentials and the loss are P. Ops that the strategy does not split so stay whole, which is faster.
#ifndef PARTITA_GRAPH_PASSES_SPLIT_CLASSES_H_
#define PARTITA_GRAPH_PASSES_SPLIT_CLASSES_H_

#include "absl/status/statusor.h"
#include "graph/op_definition.h"
#include "graph/strategy.h"

namespace partita {

// What a strategy calls the split. The rules of the whole ops do not have it, those of the pieces do.
inline constexpr char kClassSplit[] = "classes";

// The ops that this pass can take apart: softmax_cross_entropy and log_softmax.
bool HasClasses(const OpDefinition& op);

// Gives the same graph back, uncopied, where no classes are split.
absl::StatusOr<Graph> SplitClasses(Graph graph, const Strategy& strategy, const OpRegistry& registry);

}  // namespace partita

#endif  // PARTITA_GRAPH_PASSES_SPLIT_CLASSES_H_
