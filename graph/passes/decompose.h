// Takes a node apart where the strategy splits it in a way that only its pieces allow (OpDefinition::decomposition), so
// that each piece has layouts of its own. A softmax whose classes are split:
//
//   before   %l = softmax_cross_entropy(%x, %y, _)
//   after    %l@maximum = row_maximum(%x)
//            %l@exponentials = row_exponentials(%x, %l@maximum)
//            %l = cross_entropy(%x, %y, _, %l@maximum, %l@exponentials)
//
// The names make the strategy's word for %l hold for all three (graph/derive/partition.h): split by "classes" the
// maximum is P(max), the sum of exponentials and the loss are P. Nodes that the strategy does not split so stay whole,
// which is faster.
#ifndef PARTITA_GRAPH_PASSES_DECOMPOSE_H_
#define PARTITA_GRAPH_PASSES_DECOMPOSE_H_

#include "absl/status/statusor.h"
#include "graph/derive/strategy.h"
#include "graph/ir/op_definition.h"

namespace partita {

// Gives the same graph back, uncopied, where nothing is taken apart.
absl::StatusOr<Graph> Decompose(Graph graph, const Strategy& strategy, const OpRegistry& registry);

}  // namespace partita

#endif  // PARTITA_GRAPH_PASSES_DECOMPOSE_H_
