// Joins a relu to the batch norm before it.
//
//   before   %y = batch_norm_normalize(...)              %r = relu(%y)
//   after    %r = batch_norm_normalize(...) relu=true
//
// Saves one pass over memory forward and one backward. Also for batch_norm_inference. Applies only if no other node
// reads %y.
#ifndef PARTITA_OPS_FUSIONS_FUSE_NORMALIZE_RELU_H_
#define PARTITA_OPS_FUSIONS_FUSE_NORMALIZE_RELU_H_

#include "graph/ir/op_definition.h"

namespace partita {

// Gives the same graph back, uncopied, where there is nothing to join.
Graph FuseNormalizeRelu(Graph graph, const OpRegistry&);

}  // namespace partita

#endif  // PARTITA_OPS_FUSIONS_FUSE_NORMALIZE_RELU_H_
