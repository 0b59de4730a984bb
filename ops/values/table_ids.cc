#include "ops/values/table_ids.h"

namespace partita {

TableRows MakeTableRows(const LocalTensor& table, const Attributes& attributes) {
  return {table.global[0], table.box.offset[0], table.shape()[0], attributes.Int("padding_row")};
}

}  // namespace partita
