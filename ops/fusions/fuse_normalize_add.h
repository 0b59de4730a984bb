// Joins the sum of a residual network, and the relu behind it, to the batch norm before it.
//
//   before   %n = batch_norm_normalize(%x, %s, %shift, %gamma, %beta)   %a = add(%n, %r)   %y = relu(%a)
//   after    %y = batch_norm_normalize_add(%x, %s, %shift, %gamma, %beta, %r) relu=true
//
// Saves two launches and four of seven passes over memory, without a relu one launch and two of five. Only if no other
// node reads %n, and %a.
#ifndef PARTITA_OPS_FUSIONS_FUSE_NORMALIZE_ADD_H_
#define PARTITA_OPS_FUSIONS_FUSE_NORMALIZE_ADD_H_

#include "graph/ir/op_definition.h"

namespace partita {

// Gives the same graph back, uncopied, where there is nothing to join.
Graph FuseNormalizeAdd(Graph graph, const OpRegistry& registry);

}  // namespace partita

#endif  // PARTITA_OPS_FUSIONS_FUSE_NORMALIZE_ADD_H_
