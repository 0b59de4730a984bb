// Reference kernels of rows that ids choose. An id that is no row is an error of the data, reported with its place in
// the global batch.
#include <algorithm>
#include <array>

#include "graph/ir/op_definition.h"
#include "ops/host/kernel/ids.h"
#include "ops/host/kernel/row_pairs.h"
#include "ops/host/kernel/row_update_arguments.h"
#include "ops/host/reference/reference_kernels.h"
#include "ops/values/update_attributes.h"

namespace partita {

absl::StatusOr<PreparedKernel> ReferenceEmbedding(const LocalNode& node) {
  const Ids ids(node, 1, Input(node, 0));
  const int64_t channels = InputShape(node, 0)[1];
  return PreparedFloating(node.outputs[0].dtype, [=]<typename T>(const KernelArguments& a) -> absl::Status {
    RETURN_IF_ERROR(ids.Check(a));
    for (int64_t i = 0; i < ids.count(); ++i) {
      const int64_t row = ids.RowAt(a, i);
      T* const y = Out<T>(a, 0) + i * channels;
      for (int64_t c = 0; c < channels; ++c) y[c] = row < 0 ? T(0) : In<T>(a, 0)[row * channels + c];
    }
    return absl::OkStatus();
  });
}

absl::StatusOr<PreparedKernel> ReferenceEmbeddingGrad(const LocalNode& node) {
  const Ids ids(node, 1, node.outputs[0]);
  const int64_t channels = node.outputs[0].shape()[1], elements = node.outputs[0].elements();
  return PreparedFloating(node.outputs[0].dtype, [=]<typename T>(const KernelArguments& a) -> absl::Status {
    RETURN_IF_ERROR(ids.Check(a));
    std::fill_n(Out<T>(a, 0), elements, T(0));
    for (int64_t i = 0; i < ids.count(); ++i) {
      const int64_t row = ids.RowAt(a, i);
      for (int64_t c = 0; row >= 0 && c < channels; ++c) {
        Out<T>(a, 0)[row * channels + c] += In<T>(a, 2)[i * channels + c];
      }
    }
    return absl::OkStatus();
  });
}

absl::StatusOr<PreparedKernel> ReferenceMergeRows(const LocalNode& node) {
  const RowPairs pairs(node);
  const auto compute = [pairs]<typename T>(const KernelArguments& a) {
    const RowPairs::Runs runs = pairs.Sort(a);
    std::fill_n(Out<int32_t>(a, 0), pairs.count(), -1);
    std::fill_n(Out<T>(a, 1), pairs.count() * pairs.channels(), T(0));
    for (int64_t r = 0; r < runs.count; ++r) {
      Out<int32_t>(a, 0)[r] = static_cast<int32_t>(runs.readings[runs.begins[r]].row);
      for (int64_t i = runs.begins[r]; i < runs.begins[r + 1]; ++i) {
        const T* const row = pairs.Row<T>(a, runs.readings[i].position);
        for (int64_t c = 0; c < pairs.channels(); ++c) Out<T>(a, 1)[r * pairs.channels() + c] += row[c];
      }
    }
  };
  return PreparedFloating(node.outputs[1].dtype, compute, pairs.scratch_bytes());
}

namespace {

template <typename F>
absl::StatusOr<PreparedKernel> PrepareRowUpdate(const LocalNode& node) {
  const GroupUpdate<F> attributes = UpdateWith<F>(node.attributes);
  const UpdatedRows rows(node);
  return PreparedFloating(node.outputs[0].dtype, [=]<typename T>(const KernelArguments& a) {
    rows.Keep<T>(a, F::kSlots.size());
    const ElementUpdate<F, T> update = RowUpdateIn<F, T>(attributes, a);
    for (int64_t k = 0; k < rows.count; ++k) {
      const int64_t row = rows.RowOf(a, k);
      for (int64_t c = 0; row >= 0 && c < rows.channels; ++c) {
        const int64_t at = row * rows.channels + c;
        std::array<T, kSlotsOf<F>> slots;
        for (size_t s = 0; s < slots.size(); ++s) slots[s] = Out<T>(a, 1 + s)[at];
        update(Out<T>(a, 0)[at], In<T>(a, 2)[k * rows.channels + c], slots.data());
        for (size_t s = 0; s < slots.size(); ++s) Out<T>(a, 1 + s)[at] = slots[s];
      }
    }
  });
}

}  // namespace

absl::StatusOr<PreparedKernel> ReferenceRowUpdate(const LocalNode& node) {
  return WithRowUpdate(node.op->name, [&]<typename F>() { return PrepareRowUpdate<F>(node); });
}

}  // namespace partita
