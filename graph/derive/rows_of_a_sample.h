// Finds the values whose first dimension is the samples of a batch, from the rules of the ops alone.
//
//   %x = input() [8,5,3]             1 row of a sample
//   %y = reshape(%x) [40,3]          5 rows
//   %z = softmax_cross_entropy(...)  none: the samples are added up
#ifndef PARTITA_GRAPH_DERIVE_ROWS_OF_A_SAMPLE_H_
#define PARTITA_GRAPH_DERIVE_ROWS_OF_A_SAMPLE_H_

#include <cstdint>
#include <vector>

#include "graph/ir/graph.h"

namespace partita {

// How many rows of `value` belong to each sample, which follow each other; 0: its first dimension is another one.
// `before`: the same of all values with lower ids.
int64_t RowsOfASampleOf(const Graph& graph, ValueId value, const std::vector<int64_t>& before);

}  // namespace partita

#endif  // PARTITA_GRAPH_DERIVE_ROWS_OF_A_SAMPLE_H_
