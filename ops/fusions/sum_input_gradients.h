// Adds up what convolutions of single pixels ("1 x 1") that read the same images give to their cotangent while it is
// made.
//
//   before   %a = conv2d_input_grad(%dy, %v)   %b = conv2d_input_grad(%dz, %w)   %dx = add(%p, %a, %b)
//   after    %dx@sum = conv2d_input_grad_sum(%dy, %v, %dz, %w)                   %dx = add(%p, %dx@sum)
//
// As matrices they are products, dy v + dz w, and one kernel can sum them: that saves the memory of all results but
// one, and the pass over them. If the add has no other inputs, the sum replaces it. Applies only to gradients with
// equal layouts and no other reader, and to cotangents that are not split by channels, because convolutions differ in
// their number of channels.
#ifndef PARTITA_OPS_FUSIONS_SUM_INPUT_GRADIENTS_H_
#define PARTITA_OPS_FUSIONS_SUM_INPUT_GRADIENTS_H_

#include "graph/ir/op_definition.h"

namespace partita {

// Gives the same graph back, uncopied, where there is nothing to join.
Graph SumInputGradients(Graph graph, const OpRegistry& registry);

}  // namespace partita

#endif  // PARTITA_OPS_FUSIONS_SUM_INPUT_GRADIENTS_H_
