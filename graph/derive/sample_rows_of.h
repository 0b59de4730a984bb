// Finds the dimensions of values that have the samples of a batch, from the rules of the ops alone.
//
//   %x = input() [8,5,3]             dimension 0, 1 row of a sample
//   %y = reshape(%x) [40,3]          dimension 0, 5 rows
//   %z = transpose(%x) [5,8,3]       dimension 1, 1 row
//   %w = reshape(%z) [40,3]          dimension 0, 1 row, 5 times
//   %l = softmax_cross_entropy(...)  none: the samples are added up
#ifndef PARTITA_GRAPH_DERIVE_SAMPLE_ROWS_OF_H_
#define PARTITA_GRAPH_DERIVE_SAMPLE_ROWS_OF_H_

#include <optional>
#include <vector>

#include "graph/ir/graph.h"
#include "graph/ir/op_definition.h"
#include "graph/ir/sample_rows.h"

namespace partita {

// nullopt: the value has no samples, or not in one dimension. `before`: the results for all values with lower ids.
std::optional<SampleRows> SampleRowsOf(const Graph& graph, ValueId value,
                                       const std::vector<std::optional<SampleRows>>& before);

// Of an output that is split as `to`, by a rule that splits an input as `from`. none: the rule does not split the
// samples, or cuts between two of them alone.
std::optional<SampleRows> RowsBehind(const SampleRows& rows, const Pattern& from, const Pattern& to);

// Of the same elements, row-major, under another shape. none: a dimension has parts of samples, or samples are in two.
std::optional<SampleRows> RowsOfView(const SampleRows& rows, const Shape& from, const Shape& to);

}  // namespace partita

#endif  // PARTITA_GRAPH_DERIVE_SAMPLE_ROWS_OF_H_
