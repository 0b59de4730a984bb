// Ids that choose rows of a table, as kernels of every backend read them off a node.
#ifndef PARTITA_OPS_VALUES_TABLE_IDS_H_
#define PARTITA_OPS_VALUES_TABLE_IDS_H_

#include "graph/ir/kernel_catalogue.h"
#include "ops/functors/table_rows.h"

namespace partita {

// `table`: [rows,channels], or its gradient.
TableRows MakeTableRows(const LocalTensor& table, const Attributes& attributes);

}  // namespace partita

#endif  // PARTITA_OPS_VALUES_TABLE_IDS_H_
