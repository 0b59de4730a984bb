// Joins a relu to the batch norm before it.
//
//   before   %y = batch_norm_normalize(...)              %r = relu(%y)
//   after    %r = batch_norm_normalize(...) relu=true
//
// Saves one pass over memory forward and one backward. Also for batch_norm_inference. Only where nobody else reads %y.
#ifndef PARTITA_GRAPH_PASSES_FUSE_NORMALIZE_RELU_H_
#define PARTITA_GRAPH_PASSES_FUSE_NORMALIZE_RELU_H_

#include "graph/graph.h"

namespace partita {

// Gives the same graph back, uncopied, where there is nothing to join.
Graph FuseNormalizeRelu(Graph graph);

}  // namespace partita

#endif  // PARTITA_GRAPH_PASSES_FUSE_NORMALIZE_RELU_H_
