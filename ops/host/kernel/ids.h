// Ids that choose rows of a table, as kernels of rows see them.
#ifndef PARTITA_OPS_HOST_KERNEL_IDS_H_
#define PARTITA_OPS_HOST_KERNEL_IDS_H_

#include <algorithm>
#include <compare>
#include <cstdint>

#include "ops/host/kernel/host_kernel.h"
#include "ops/values/index_places.h"
#include "ops/values/table_ids.h"

namespace partita {

// Where in the batch a row of a rank's block is read.
struct Reading {
  int64_t row, position;
  auto operator<=>(const Reading&) const = default;
};

class Ids {
 public:
  // Input `index` of the node; `table` is what they are rows of, or its gradient.
  Ids(const LocalNode& node, size_t index, const LocalTensor& table)
      : index_(index),
        count_(Input(node, index).elements()),
        places_(node, index),
        rows_(MakeTableRows(table, node.attributes)) {}

  int64_t count() const { return count_; }
  int64_t At(const KernelArguments& arguments, int64_t i) const { return In<int32_t>(arguments, index_)[i]; }
  // TableRows::RowOf the i-th.
  int64_t RowAt(const KernelArguments& arguments, int64_t i) const { return rows_.RowOf(At(arguments, i)); }

  // kInvalidArgument: an id that is no row.
  absl::Status Check(const KernelArguments& arguments) const {
    for (int64_t i = 0; i < count(); ++i) {
      const int64_t id = At(arguments, i);
      if (!rows_.Has(id)) return places_.Refused("id", i, id, rows_.all - 1);
    }
    return absl::OkStatus();
  }

  int64_t readings_bytes() const { return count() * static_cast<int64_t>(sizeof(Reading)); }
  // Writes to `readings`, which has room for count(), the readings of the block's rows: by row, of each in the order of
  // the batch. Returns how many there are.
  int64_t Sort(const KernelArguments& arguments, Reading* readings) const {
    int64_t found = 0;
    for (int64_t i = 0; i < count(); ++i) {
      const int64_t row = RowAt(arguments, i);
      if (row >= 0) readings[found++] = {row, i};
    }
    std::sort(readings, readings + found);
    return found;
  }

 private:
  size_t index_;
  int64_t count_;
  IndexPlaces places_;
  TableRows rows_;
};

}  // namespace partita

#endif  // PARTITA_OPS_HOST_KERNEL_IDS_H_
