// Ops on rows that ids choose, one function each. The list in use is in ops/registry.cc.
#ifndef PARTITA_OPS_DEFINITIONS_ROWS_ROW_DEFINITIONS_H_
#define PARTITA_OPS_DEFINITIONS_ROWS_ROW_DEFINITIONS_H_

#include <vector>

#include "graph/ir/op_definition.h"

namespace partita {

#define OP(name) OpDefinition name();
#include "ops/definitions/rows/row_definitions.inc"
#undef OP

// row_updates.cc
std::vector<OpDefinition> RowUpdateOps();

}  // namespace partita

#endif  // PARTITA_OPS_DEFINITIONS_ROWS_ROW_DEFINITIONS_H_
