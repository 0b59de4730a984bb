#include "ops/values/table_ids.h"

#include "runtime/base/status.h"

namespace partita {

TableRows MakeTableRows(const LocalTensor& table, const Attributes& attributes) {
  return {table.global[0], table.box.offset[0], table.shape()[0], attributes.Int("padding_row")};
}

absl::Status NoSuchRow(const LocalTensor& ids, int64_t position, int64_t id, int64_t rows) {
  const int64_t places = ids.shape().size() > 1 ? ids.shape()[1] : 1, sample = ids.box.offset[0] + position / places;
  if (ids.shape().size() == 1) {
    return InvalidArgument("sample {} of the batch has id {}, allowed are 0 to {}", sample, id, rows - 1);
  }
  return InvalidArgument("sample {} of the batch has id {} at place {}, allowed are 0 to {}", sample, id,
                         ids.box.offset[1] + position % places, rows - 1);
}

}  // namespace partita
