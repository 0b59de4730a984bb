// Nodes whose operands are columns of wider rows (LocalNode::within): what the tests of kernels share.
#ifndef PARTITA_TESTS_OPS_HOST_COLUMNS_COLUMN_CASE_H_
#define PARTITA_TESTS_OPS_HOST_COLUMNS_COLUMN_CASE_H_

#include <cstdint>
#include <vector>

#include "ops/values/columns.h"
#include "tests/ops/host/kernel_case.h"

namespace partita {

// The node with all operands in rows that the kernel takes as columns, from column `first` on: no two rows are of the
// same width, the narrowest has `more` + 4 other columns.
LocalNode WithColumns(LocalNode node, const ColumnOperands& columns, int64_t first, int64_t more);

// What the rows of an operand hold; NaN beside the columns.
Values InRows(const LocalNode& node, size_t operand, const Values& values);
// The same of all inputs.
std::vector<Values> InRows(const LocalNode& node, std::vector<Values> inputs);

}  // namespace partita

#endif  // PARTITA_TESTS_OPS_HOST_COLUMNS_COLUMN_CASE_H_
