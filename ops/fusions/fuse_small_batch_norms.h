// Joins the two launches of a small batch norm forward, and those backward.
//
//   before   %s = batch_norm_statistics(%x, %shift)
//            %y = batch_norm_normalize(%x, %s, %shift, %gamma, %beta)
//   after    %y, %s = batch_norm_forward(%x, %shift, %gamma, %beta)
//
//   before   %ds, %dgamma, %dbeta = batch_norm_gradient_sums(%x, %dy, %s, %shift, %gamma, %beta)
//            %dx = batch_norm_input_grad(%x, %dy, %s, %shift, %gamma, %beta, %ds)
//   after    %dx, %dgamma, %dbeta = batch_norm_backward(%x, %dy, %s, %shift, %gamma, %beta)
//
// Likewise batch_norm_normalize_add becomes batch_norm_forward_add, and with batch_norm_gradient_sums_relu the second
// becomes batch_norm_backward_relu (fuse_normalize_add.h, fuse_relu_sums.h).
//
// A kernel of a GPU reads the rows once and is launched once, if no rank has more of them than a block keeps
// (ops/functors/batch_norm.h). Statistics that ranks add up lie behind a move and are not joined, nor is a second
// normalize of the same statistics.
#ifndef PARTITA_OPS_FUSIONS_FUSE_SMALL_BATCH_NORMS_H_
#define PARTITA_OPS_FUSIONS_FUSE_SMALL_BATCH_NORMS_H_

#include "graph/ir/op_definition.h"

namespace partita {

// Gives the same graph back, uncopied, where there is nothing to join.
Graph FuseSmallBatchNorms(Graph graph, const OpRegistry& registry);

}  // namespace partita

#endif  // PARTITA_OPS_FUSIONS_FUSE_SMALL_BATCH_NORMS_H_
