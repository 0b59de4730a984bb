// Joins an all_reduce to the slice that reads it alone.
//
//   before   %b = all_reduce(%a) axes=data   %c = slice_move(%b) axes=data
//   after    %c = reduce_scatter(%a) axes=data
//
// The pair P->R, R->S is P->S; it moves half the bytes (algorithms.md 1.8, item 1).
#ifndef PARTITA_GRAPH_PASSES_FUSE_MOVES_H_
#define PARTITA_GRAPH_PASSES_FUSE_MOVES_H_

#include "graph/op_definition.h"

namespace partita {

// Gives the same graph back, uncopied, where there is nothing to join.
Graph FuseMoves(Graph graph, const OpRegistry& registry);

}  // namespace partita

#endif  // PARTITA_GRAPH_PASSES_FUSE_MOVES_H_
