// Joins the gradient of a bias to that of the weight before it: both read the same cotangent.
//
//   before   %dw = matmul(%x, %dy) transpose_x=true       %db = bias_grad(%dy)
//   after    %dw, %db = matmul_bias_grad(%x, %dy) transpose_x=true
//
// Saves a pass over the cotangent, where a kernel adds up what it reads anyway (GPUs). Of bf16 only where the weight's
// gradient is cast to f32, by which the joined node takes the place of the cast too: a sum is no bf16. The joined node
// stands where the first of them stood, if both of its inputs are there; else nothing is joined.
#ifndef PARTITA_OPS_FUSIONS_FUSE_BIAS_GRADIENT_H_
#define PARTITA_OPS_FUSIONS_FUSE_BIAS_GRADIENT_H_

#include "graph/ir/op_definition.h"

namespace partita {

// Gives the same graph back, uncopied, where there is nothing to join.
Graph FuseBiasGradient(Graph graph, const OpRegistry& registry);

}  // namespace partita

#endif  // PARTITA_OPS_FUSIONS_FUSE_BIAS_GRADIENT_H_
