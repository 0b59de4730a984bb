// Rows that ids choose.
#include "ops/cuda/launch/rows.h"

#include "graph/ir/op_definition.h"
#include "ops/cuda/launch/copies.h"
#include "ops/cuda/launch/label_fault.h"
#include "ops/cuda/launch/row_updates.h"
#include "ops/cuda/own/own_kernels.h"
#include "ops/functors/updates/row_updates.h"
#include "ops/values/index_places.h"
#include "ops/values/table_ids.h"
#include "ops/values/update_attributes.h"

namespace partita {
namespace {

// Without addresses. Input `ids` of the node; `table` is what they are rows of, or its gradient.
launch::RowIds RowIdsOf(const LocalNode& node, size_t ids, const LocalTensor& table) {
  return {MakeTableRows(table, node.attributes), Input(node, ids).elements(), table.shape()[1]};
}

launch::RowIds Bound(launch::RowIds rows, const int32_t* ids) {
  rows.ids = ids;
  return rows;
}

}  // namespace

// (table, ids) -> y
absl::StatusOr<PreparedCudaKernel> CudaEmbedding(const LocalNode& node) {
  const launch::RowIds rows = RowIdsOf(node, 1, Input(node, 0));
  const auto enqueue = [rows](const KernelArguments& a, DType dtype, CudaQueue q) {
    return launch::Embedding(dtype, Bound(rows, In<int32_t>(a, 1)), In(a, 0), Out(a, 0), a.fault, q);
  };
  ASSIGN_OR_RETURN(PreparedCudaKernel kernel, OwnFloatingKernel(node, enqueue));
  kernel.explain = [ids = IndexPlaces(node, 1), all = rows.table.all](uint64_t word) {
    const launch::LabelFault fault = launch::LabelFault::Of(word);
    return ids.Refused("id", fault.row, fault.label, all - 1);
  };
  return kernel;
}

// (table?, ids, dy) -> dtable. What is no row the embedding has told of.
absl::StatusOr<PreparedCudaKernel> CudaEmbeddingGrad(const LocalNode& node) {
  const launch::RowIds rows = RowIdsOf(node, 1, node.outputs[0]);
  const auto enqueue = [rows](const KernelArguments& a, DType dtype, CudaQueue q) {
    return launch::EmbeddingGrad(dtype, Bound(rows, In<int32_t>(a, 1)), In(a, 2), Out(a, 0),
                                 static_cast<int64_t*>(a.workspace), q);
  };
  return OwnFloatingKernel(node, enqueue, rows.order_bytes());
}

// (ids, rows, ids, rows, ...) -> ids, rows
absl::StatusOr<PreparedCudaKernel> CudaMergeRows(const LocalNode& node) {
  const IntList& padding = node.attributes.Ints("padding_rows");
  if (padding.size() > launch::RowPairs::kMost) {
    return InvalidArgument("there are {} pairs of ids and rows, at most {} are allowed", padding.size(),
                           launch::RowPairs::kMost);
  }
  launch::RowPairs pairs;
  pairs.channels = node.outputs[1].shape()[1];
  for (const int64_t row : padding) {
    pairs.pair[pairs.pairs].first = pairs.count;
    pairs.pair[pairs.pairs].padding = row;
    pairs.count += Input(node, 2 * static_cast<size_t>(pairs.pairs++)).elements();
  }
  const DType dtype = node.outputs[1].dtype;
  RETURN_IF_ERROR(RequireFloating(dtype));
  if (dtype == DType::kBF16) return InvalidArgument("dtype is bf16, allowed are f32 and f64");
  const auto enqueue = [pairs](const KernelArguments& a, DType type, CudaQueue q) {
    launch::RowPairs bound = pairs;
    for (int p = 0; p < bound.pairs; ++p) {
      bound.pair[p].ids = In<int32_t>(a, 2 * static_cast<size_t>(p));
      bound.pair[p].rows = In(a, 2 * static_cast<size_t>(p) + 1);
    }
    return launch::MergeRows(type, bound, static_cast<int32_t*>(Out(a, 0)), Out(a, 1),
                             static_cast<int64_t*>(a.workspace), q);
  };
  return OwnKernelOf(dtype, enqueue, pairs.workspace_bytes());
}

namespace {

// What does not lie in place is copied first.
LaunchError Keep(const KernelArguments& a, size_t slots, int64_t bytes, CudaQueue queue) {
  for (size_t o = 0; o <= slots; ++o) {
    const LaunchError error = launch::CopyRun(Out(a, o), In(a, o == 0 ? 0 : 2 + o), bytes, queue);
    if (error != kLaunched) return error;
  }
  return kLaunched;
}

template <typename F>
absl::StatusOr<PreparedCudaKernel> PrepareRowUpdate(const LocalNode& node) {
  const LocalTensor& w = node.outputs[0];
  launch::RowUpdate<F> update;
  update.set.update = UpdateWith<F>(node.attributes);
  update.table = {w.global[0], w.box.offset[0], w.shape()[0], -1};
  update.count = Input(node, 1).elements();
  update.channels = w.shape()[1];
  return OwnWideKernel(node, [update, bytes = w.bytes()](const KernelArguments& a, DType dtype, CudaQueue q) {
    constexpr size_t kRate = kRowsRateInput<F>;
    if (const LaunchError error = Keep(a, F::kSlots.size(), bytes, q); error != kLaunched) return error;
    launch::RowUpdate<F> bound = update;
    bound.set.clip = In(a, kRate + 2);
    bound.scalars = {In(a, kRate), In<int32_t>(a, kRate + 1), F::kCountsSteps ? In<int32_t>(a, kRate + 3) : nullptr};
    bound.ids = In<int32_t>(a, 1);
    bound.rows = In(a, 2);
    bound.w = Out(a, 0);
    for (size_t s = 0; s < F::kSlots.size(); ++s) bound.slots[s] = Out(a, 1 + s);
    return launch::UpdateRows<F>(dtype, bound, q);
  });
}

}  // namespace

absl::StatusOr<PreparedCudaKernel> CudaRowUpdate(const LocalNode& node) {
  return WithRowUpdate(node.op->name, [&]<typename F>() { return PrepareRowUpdate<F>(node); });
}

}  // namespace partita
