// Rows that ids choose.
#include "ops/cuda/launch/rows.h"

#include "ops/cuda/launch/label_fault.h"
#include "ops/cuda/own/own_kernels.h"
#include "ops/values/table_ids.h"

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
  kernel.explain = [ids = Input(node, 1), all = rows.table.all](uint64_t word) {
    const launch::LabelFault fault = launch::LabelFault::Of(word);
    return NoSuchRow(ids, fault.row, fault.label, all);
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

}  // namespace partita
