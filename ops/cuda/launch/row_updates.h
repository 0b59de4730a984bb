// Updates of the rows of a table that merged ids choose, in place.
#ifndef PARTITA_OPS_CUDA_LAUNCH_ROW_UPDATES_H_
#define PARTITA_OPS_CUDA_LAUNCH_ROW_UPDATES_H_

#include <cstdint>

#include "ops/cuda/launch/optimizer.h"
#include "ops/functors/table_rows.h"

namespace partita::launch {

template <typename F>
struct RowUpdate {
  UpdateSet<F> set;
  UpdateAddresses scalars;
  TableRows table;
  int64_t count = 0, channels = 0;
  const int32_t* ids = nullptr;  // each at most once, but those that are no row
  const void* rows = nullptr;    // the gradients
  void* w = nullptr;
  void* slots[UpdateTensor<F>::kPlaces] = {};
};

// Instantiated for every F of PARTITA_ROW_UPDATES.
template <typename F>
LaunchError UpdateRows(DType dtype, const RowUpdate<F>& update, CudaQueue queue);

}  // namespace partita::launch

#endif  // PARTITA_OPS_CUDA_LAUNCH_ROW_UPDATES_H_
