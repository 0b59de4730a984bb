// Joins an all_reduce to the slice that reads it alone, also through a reshape in between.
//
//   before   %b = all_reduce(%a) axes=data   %c = slice_move(%b) axes=data
//   after    %c = reduce_scatter(%a) axes=data
//
//   before   %b = all_reduce(%a) axes=model   %c = reshape(%b)   %d = slice_move(%c) axes=model
//   after    %c = reshape(%a)   %d = reduce_scatter(%c) axes=model
//
// The pair P->R, R->S is P->S; it moves half the bytes (docs/papers.md 1.4). The second picture is the border
// between convolutions and dense layers: where summands may pass the reshape is for the strategy to say.
#ifndef PARTITA_GRAPH_PASSES_FUSE_MOVES_H_
#define PARTITA_GRAPH_PASSES_FUSE_MOVES_H_

#include "graph/derive/strategy.h"
#include "graph/ir/op_definition.h"

namespace partita {

// Gives the same graph back, uncopied, where there is nothing to join. kAllReduce: nothing is joined through a reshape.
Graph FuseMoves(Graph graph, const OpRegistry& registry, InputGradients input_gradients);

}  // namespace partita

#endif  // PARTITA_GRAPH_PASSES_FUSE_MOVES_H_
