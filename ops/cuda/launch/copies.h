// Launches that only move bytes: boxes of strided runs, transposes, plain copies, zeros.
#ifndef PARTITA_OPS_CUDA_LAUNCH_COPIES_H_
#define PARTITA_OPS_CUDA_LAUNCH_COPIES_H_

#include <cstdint>

#include "ops/cuda/launch/launch.h"

namespace partita::launch {

// Equal runs of bytes at regular distances, from one place to another that does not overlap it.
struct StridedBox {
  static constexpr int kMaxDimensions = 8;

  const char* from = nullptr;
  char* to = nullptr;
  int64_t run_bytes = 0;  // 0: nothing to copy
  int dimensions = 0;     // of the runs, the innermost first
  int64_t size[kMaxDimensions] = {};
  int64_t from_stride[kMaxDimensions] = {}, to_stride[kMaxDimensions] = {};  // bytes
};

// Copies all boxes, which do not overlap in `to`. As few launches as hold their descriptions; each box moves in the
// widest unit (1 to 16 bytes) that divides its run, its strides and its addresses.
LaunchError Copy(const StridedBox* boxes, int count, CudaQueue queue);

// Elements that are neighbours in x and go `y_step` elements apart in y, and the other way round: `columns` lie side by
// side in x, `rows` in y. All of that for each of outer[0] * outer[1] places. Sizes are at least 1.
struct TurnedElements {
  struct Outer {
    int64_t size = 1, x_step = 0, y_step = 0;
  };

  int64_t element_bytes = 0;  // 1, 2, 4 or 8; addresses are multiples of it
  int64_t columns = 1, rows = 1;
  int64_t x_step = 0;  // from row to row in x
  int64_t y_step = 0;  // from column to column in y
  Outer outer[2];
};

// Through tiles in shared memory, so that neighbours are read and written side by side.
LaunchError Turn(const TurnedElements& turned, const void* x, void* y, CudaQueue queue);

LaunchError CopyRun(void* to, const void* from, int64_t bytes, CudaQueue queue);
LaunchError Zero(void* to, int64_t bytes, CudaQueue queue);

}  // namespace partita::launch

#endif  // PARTITA_OPS_CUDA_LAUNCH_COPIES_H_
