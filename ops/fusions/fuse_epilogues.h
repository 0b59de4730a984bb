// Joins what follows a convolution or a matrix product to it: the bias, an op of EpilogueOps
// (ops/functors/epilogue.h), or both.
//
//   before   %a = conv2d(%x, %w)      %b = bias(%a, %v)      %y = relu(%b)
//   after    %y = conv2d_epilogue(%x, %w, %v) activation=relu
//
// Saves one forward pass over memory for each; also for matmul. Applies only if no other node reads %a and %b, all
// three layouts are equal, and %a is not partial on any axis: a partial sum is not yet the product. Runs after the
// adjoint: the activation's gradient reads %y, and no gradient reads %a or %b, so the joined ops have no gradient.
#ifndef PARTITA_OPS_FUSIONS_FUSE_EPILOGUES_H_
#define PARTITA_OPS_FUSIONS_FUSE_EPILOGUES_H_

#include "graph/ir/op_definition.h"

namespace partita {

// Gives the same graph back, uncopied, where there is nothing to join.
Graph FuseEpilogues(Graph graph, const OpRegistry& registry);

}  // namespace partita

#endif  // PARTITA_OPS_FUSIONS_FUSE_EPILOGUES_H_
