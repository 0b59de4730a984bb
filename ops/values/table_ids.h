// Ids that choose rows of a table, as kernels of every backend read them off a node and refuse them.
#ifndef PARTITA_OPS_VALUES_TABLE_IDS_H_
#define PARTITA_OPS_VALUES_TABLE_IDS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "graph/ir/kernel_catalogue.h"
#include "ops/functors/table_rows.h"

namespace partita {

// `table`: [rows,channels], or its gradient.
TableRows MakeTableRows(const LocalTensor& table, const Attributes& attributes);

// Of the id at `position` of a rank's `ids`, [n] or [n,t], which is no row; names its place in the global batch.
absl::Status NoSuchRow(const LocalTensor& ids, int64_t position, int64_t id, int64_t rows);

}  // namespace partita

#endif  // PARTITA_OPS_VALUES_TABLE_IDS_H_
