// Joins a cast to f32 to the product of bf16 that it alone reads.
//
//   before   %p = matmul_epilogue(%x, %w, %b) bf16     %y = cast(%p) f32
//   after    %y = matmul_epilogue(%x, %w, %b) wide=true f32
//
// Sums are f32 before they are rounded: they are not rounded to be widened again, a launch is saved, and cuBLASLt,
// which takes a bias of y's type alone, reads that of the node (GPUs). So is a weight's gradient that ranks or
// micro-batches add up: each of them makes its summand in f32.
#ifndef PARTITA_OPS_FUSIONS_FUSE_WIDENING_H_
#define PARTITA_OPS_FUSIONS_FUSE_WIDENING_H_

#include "graph/ir/op_definition.h"

namespace partita {

// Gives the same graph back, uncopied, where there is nothing to join.
Graph FuseWidening(Graph graph, const OpRegistry& registry);

}  // namespace partita

#endif  // PARTITA_OPS_FUSIONS_FUSE_WIDENING_H_
