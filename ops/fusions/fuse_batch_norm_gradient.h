// Joins the two ways by which a batch norm's input reaches its output into one pass over memory.
//
//   before   %a = batch_norm_normalize_input_grad(%x, %dy, %stats, %shift, %gamma, %beta)
//            %b = batch_norm_statistics_grad(%x, %shift, %dstats)
//            %c = add(%a, %b)
//   after    %c = batch_norm_input_grad(%x, %dy, %stats, %shift, %gamma, %beta, %dstats)
#ifndef PARTITA_OPS_FUSIONS_FUSE_BATCH_NORM_GRADIENT_H_
#define PARTITA_OPS_FUSIONS_FUSE_BATCH_NORM_GRADIENT_H_

#include "graph/ir/op_definition.h"

namespace partita {

// Gives the same graph back, uncopied, where there is nothing to join.
Graph FuseBatchNormGradient(Graph graph, const OpRegistry& registry);

}  // namespace partita

#endif  // PARTITA_OPS_FUSIONS_FUSE_BATCH_NORM_GRADIENT_H_
