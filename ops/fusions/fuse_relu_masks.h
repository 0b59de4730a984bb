// Joins the gradient of a relu behind a product to the product that makes its cotangent.
//
//   before   %y = matmul_epilogue(%x, %w, %b) activation=relu   ...   %dy = matmul(%dz, %v)   %d = relu_grad(%dy, %y)
//   after    %y, %mask = matmul_relu_mask(%x, %w, %b)           ...   %d = matmul_relu_grad(%dz, %v, %mask)
//
// Saves a launch and two passes over the cotangent: cuBLASLt writes a bit for each element beside y, and clears by them
// what it multiplies (GPUs). The gradient of the bias before the relu is made with its weight's
// (fuse_bias_gradient.h), in f32 of bf16 too, where cuBLASLt would round it. Only where the gradient alone reads %dy,
// where %dy and %y lie alike, and where no axis splits their channels or has %dy as a sum.
#ifndef PARTITA_OPS_FUSIONS_FUSE_RELU_MASKS_H_
#define PARTITA_OPS_FUSIONS_FUSE_RELU_MASKS_H_

#include "graph/ir/op_definition.h"

namespace partita {

// Gives the same graph back, uncopied, where there is nothing to join.
Graph FuseReluMasks(Graph graph, const OpRegistry& registry);

}  // namespace partita

#endif  // PARTITA_OPS_FUSIONS_FUSE_RELU_MASKS_H_
