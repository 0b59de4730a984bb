// Ops on rows: x [n,...,c], whose last dimension is taken row by row, and all before it say which row.
#ifndef PARTITA_OPS_FORMS_ROWS_H_
#define PARTITA_OPS_FORMS_ROWS_H_

#include <string>
#include <vector>

#include "graph/ir/op_definition.h"

namespace partita {

// Floating, of 2 to 4 dimensions.
absl::Status CheckRows(const NodeView& node, int index, const std::string& name);

// All dimensions but the last: the shape of one number for each row.
Shape RowsOf(const Shape& x);

// What an input or output of an op on rows is, which says how it is split.
enum class RowPart {
  kElements,  // as x
  kRows,      // of each row: one number, or a few in a dimension behind
  kSamples,   // one number for each sample
  kWhole,     // of all rows: each reads all of it, and makes a summand
};

// The rules of such an op on x of `rank` dimensions: one for each of them but the last.
std::vector<Rule> RowRules(int rank, const std::vector<RowPart>& inputs, const std::vector<RowPart>& outputs);

// The rule that splits the rows themselves: of a part of each row a number is one part of the row's, by `reduction`.
Rule SplitRows(int rank, const std::string& name, const std::vector<RowPart>& inputs,
               const std::vector<RowPart>& outputs, Reduction reduction = Reduction::kSum);

}  // namespace partita

#endif  // PARTITA_OPS_FORMS_ROWS_H_
