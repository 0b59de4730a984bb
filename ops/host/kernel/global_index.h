// Walks a local block row by row with the global index of each row's first element: numbers that depend on the global
// element index (dropout) do not depend on how a value is split.
#ifndef PARTITA_OPS_HOST_KERNEL_GLOBAL_INDEX_H_
#define PARTITA_OPS_HOST_KERNEL_GLOBAL_INDEX_H_

#include <cstdint>

#include "graph/ir/kernel_catalogue.h"

namespace partita {

// The number of rows of a block and their length: as many trailing dimensions as lie contiguously in the global tensor.
struct GlobalRows {
  // `first_sample`: of the tensor, in the batch that the index is of.
  explicit GlobalRows(const LocalTensor& tensor, int64_t first_sample = 0) : tensor(&tensor) {
    if (tensor.box.empty()) return;
    base = static_cast<uint64_t>(first_sample);
    for (size_t d = 1; d < tensor.global.size(); ++d) base *= static_cast<uint64_t>(tensor.global[d]);
    first = static_cast<int>(tensor.global.size());
    bool whole = true;  // the dimensions after `first` are whole
    while (first > 0 && whole) {
      --first;
      length *= tensor.box.size[first];
      whole = tensor.box.size[first] == tensor.global[first];
    }
    count = tensor.elements() / length;
  }

  // The global index of the first element of row `row`.
  uint64_t Start(int64_t row) const {
    const Box& box = tensor->box;
    uint64_t start = base, stride = 1;
    for (int d = static_cast<int>(box.size.size()) - 1; d >= 0; --d) {
      int64_t index = box.offset[d];
      if (d < first) {
        index += row % box.size[d];
        row /= box.size[d];
      }
      start += stride * static_cast<uint64_t>(index);
      stride *= static_cast<uint64_t>(tensor->global[d]);
    }
    return start;
  }

  const LocalTensor* tensor;
  int first = 0;  // a row covers the dimensions from here on
  int64_t length = 1;
  int64_t count = 0;
  uint64_t base = 0;  // the index of the tensor's first element
};

}  // namespace partita

#endif  // PARTITA_OPS_HOST_KERNEL_GLOBAL_INDEX_H_
