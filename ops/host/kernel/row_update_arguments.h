// An update of rows in a step: with the scalars that the step gives it, and which rows it changes.
#ifndef PARTITA_OPS_HOST_KERNEL_ROW_UPDATE_ARGUMENTS_H_
#define PARTITA_OPS_HOST_KERNEL_ROW_UPDATE_ARGUMENTS_H_

#include <algorithm>

#include "ops/functors/table_rows.h"
#include "ops/functors/updates/row_updates.h"
#include "ops/host/kernel/host_kernel.h"

namespace partita {

struct UpdatedRows {
  explicit UpdatedRows(const LocalNode& node)
      : table{node.outputs[0].global[0], node.outputs[0].box.offset[0], node.outputs[0].shape()[0], -1},
        channels(node.outputs[0].shape()[1]),
        count(Input(node, 1).elements()) {}

  // Of the k-th id; -1: of another rank, or of none.
  int64_t RowOf(const KernelArguments& arguments, int64_t k) const { return table.RowOf(In<int32_t>(arguments, 1)[k]); }

  // w and its slots, where they do not lie in place.
  template <typename T>
  void Keep(const KernelArguments& arguments, size_t slots) const {
    for (size_t o = 0; o <= slots; ++o) {
      const T* const from = In<T>(arguments, o == 0 ? 0 : 2 + o);
      if (from != Out<T>(arguments, o)) std::copy_n(from, table.rows * channels, Out<T>(arguments, o));
    }
  }

  TableRows table;
  int64_t channels, count;
};

template <typename F, typename T>
ElementUpdate<F, T> RowUpdateIn(const GroupUpdate<F>& update, const KernelArguments& a) {
  constexpr size_t kRate = kRowsRateInput<F>;
  return {update,
          ScalarsAt<F>(In<T>(a, kRate), In<int32_t>(a, kRate + 1), In<T>(a, kRate + 2), In<int32_t>(a, kRate + 3))};
}

}  // namespace partita

#endif  // PARTITA_OPS_HOST_KERNEL_ROW_UPDATE_ARGUMENTS_H_
