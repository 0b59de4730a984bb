// Launches that only move bytes: boxes of strided runs, plain copies, zeros.
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

LaunchError CopyRun(void* to, const void* from, int64_t bytes, CudaQueue queue);
LaunchError Zero(void* to, int64_t bytes, CudaQueue queue);

}  // namespace partita::launch

#endif  // PARTITA_OPS_CUDA_LAUNCH_COPIES_H_
