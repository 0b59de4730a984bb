#include "runtime/data/batch_source.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace partita {

int64_t BatchSource::samples_of(int64_t batch) const {
  return std::min(batch_rows(), samples() - batch % batches_per_epoch() * batch_rows());
}

absl::Status BatchSource::Fill(int64_t batch, Rows rows, const FieldBuffers& out) const {
  CHECK(batch >= 0);
  CHECK(0 <= rows.begin && rows.begin <= rows.end && rows.end <= batch_rows());
  const std::vector<Field>& of = fields_of(bucket(batch));
  CHECK(out.size() == of.size());
  for (size_t f = 0; f < of.size(); ++f) {
    CHECK(static_cast<int64_t>(out[f].size()) == rows.size() * of[f].row_bytes());
  }
  return rows.size() == 0 ? absl::OkStatus() : FillChecked(batch, rows, out);
}

}  // namespace partita
