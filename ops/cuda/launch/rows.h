// Launches on rows that ids choose. An id out of range gives NaN and writes a LabelFault's word to `fault` (may be
// null).
#ifndef PARTITA_OPS_CUDA_LAUNCH_ROWS_H_
#define PARTITA_OPS_CUDA_LAUNCH_ROWS_H_

#include <cstdint>

#include "graph/value/dtype.h"
#include "ops/cuda/launch/launch.h"
#include "ops/functors/table_rows.h"

namespace partita::launch {

// A rank's ids, and the rows that they choose.
struct RowIds {
  TableRows table;
  int64_t count = 0, channels = 0;
  const int32_t* ids = nullptr;

  // Of an order of the ids.
  int64_t order_bytes() const { return count * static_cast<int64_t>(sizeof(int64_t)); }
};

// y[i] = table[ids[i]]
LaunchError Embedding(DType dtype, const RowIds& rows, const void* table, void* y, uint64_t* fault, CudaQueue queue);

// dtable[row] = the sum of dy[i] in their order, where ids[i] is the row; zeros for a row that no id names. `order` is
// workspace of order_bytes().
LaunchError EmbeddingGrad(DType dtype, const RowIds& rows, const void* dy, void* dtable, int64_t* order,
                          CudaQueue queue);

// Pairs of ids and rows as one list (ops/definitions/rows/merge_rows.cc).
struct RowPairs {
  static constexpr int kMost = 64;

  struct Pair {
    const int32_t* ids = nullptr;
    const void* rows = nullptr;
    int64_t first = 0;     // its place in the list
    int64_t padding = -1;  // the id to skip; -1: none
  };
  int pairs = 0;
  Pair pair[kMost];
  int64_t count = 0, channels = 0;

  // One of all ids behind each other, their order, and how many runs of one id begin before each.
  int64_t workspace_bytes() const { return count * static_cast<int64_t>(3 * sizeof(int64_t)); }
};

LaunchError MergeRows(DType dtype, const RowPairs& pairs, int32_t* ids, void* rows, int64_t* workspace,
                      CudaQueue queue);

}  // namespace partita::launch

#endif  // PARTITA_OPS_CUDA_LAUNCH_ROWS_H_
