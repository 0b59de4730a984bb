// Makes every floating value of a graph another floating type.
//
//   before   %w = parameter() f32[784,10]
//   after    %w = parameter() f64[784,10]
//
// For the gradient checks and the equivalence tests, which run in double precision.
#ifndef PARTITA_GRAPH_PASSES_CONVERT_DTYPE_H_
#define PARTITA_GRAPH_PASSES_CONVERT_DTYPE_H_

#include "graph/ir/graph.h"

namespace partita {

Graph ConvertDType(const Graph& graph, DType floating);

}  // namespace partita

#endif  // PARTITA_GRAPH_PASSES_CONVERT_DTYPE_H_
