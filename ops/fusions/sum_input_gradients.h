// Adds up what convolutions of single pixels ("1 x 1") that read the same images give to their cotangent while it is
// made.
//
//   before   %a = conv2d_input_grad(%dy, %v)   %b = conv2d_input_grad(%dz, %w)   %dx = add(%p, %a, %b)
//   after    %dx@sum = conv2d_input_grad_sum(%dy, %v, %dz, %w)                   %dx = add(%p, %dx@sum)
//
// As matrices they are products, dy v + dz w, which a kernel adds to each other: that saves the memory of all results
// but one, and the pass over them. Where nothing else is added, the sum takes the place of the add. Only of gradients
// that nobody else reads and that lie alike, and of cotangents that are not split by channels: convolutions have
// different numbers of them.
#ifndef PARTITA_OPS_FUSIONS_SUM_INPUT_GRADIENTS_H_
#define PARTITA_OPS_FUSIONS_SUM_INPUT_GRADIENTS_H_

#include "graph/ir/op_definition.h"

namespace partita {

// Gives the same graph back, uncopied, where there is nothing to join.
Graph SumInputGradients(Graph graph, const OpRegistry& registry);

}  // namespace partita

#endif  // PARTITA_OPS_FUSIONS_SUM_INPUT_GRADIENTS_H_
