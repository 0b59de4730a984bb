// Joins the gradient of a relu to sums over its rows: those of a batch norm behind a residual sum, or of a bias.
//
//   before   %d = relu_grad(%dy, %y)
//            %ds, %dg, %db = batch_norm_gradient_sums(%x, %d, %s, %shift, %gamma, %beta)
//   after    %ds, %dg, %db, %d = batch_norm_gradient_sums_relu(%x, %dy, %s, %shift, %gamma, %beta, %y)
//
//   before   %d = relu_grad(%dy, %y)   %db = bias_grad(%d)
//   after    %db, %d = bias_grad_relu(%dy, %y)
//
// Saves a launch and a pass over %d. Other nodes may read %d as well, so the joined node stands where the relu's
// gradient stood: only if what the sums read is there.
#ifndef PARTITA_OPS_FUSIONS_FUSE_RELU_SUMS_H_
#define PARTITA_OPS_FUSIONS_FUSE_RELU_SUMS_H_

#include "graph/ir/op_definition.h"

namespace partita {

// Gives the same graph back, uncopied, where there is nothing to join.
Graph FuseReluSums(Graph graph, const OpRegistry& registry);

}  // namespace partita

#endif  // PARTITA_OPS_FUSIONS_FUSE_RELU_SUMS_H_
