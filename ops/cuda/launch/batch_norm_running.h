// Running statistics of batch normalizations (ops/functors/batch_norm.h), many in one launch. stats is f64
// [groups,2,channels]; its shift is the running mean as read.
#ifndef PARTITA_OPS_CUDA_LAUNCH_BATCH_NORM_RUNNING_H_
#define PARTITA_OPS_CUDA_LAUNCH_BATCH_NORM_RUNNING_H_

#include <cstdint>

#include "graph/value/dtype.h"
#include "ops/cuda/launch/launch.h"

namespace partita::launch {

// The statistics of one node. What is new may lie where the old is.
struct RunningStatistics {
  int64_t groups = 0, channels = 0;
  double momentum = 0, count = 0;
  const double* stats = nullptr;
  const void *mean = nullptr, *variance = nullptr;
  void *new_mean = nullptr, *new_variance = nullptr;
};

// Updates `count` of them in as few launches as hold their descriptions; all stay as they are where `apply` is 0 (null:
// 1).
LaunchError BatchNormRunning(DType dtype, const RunningStatistics* nodes, int count, const int32_t* apply,
                             CudaQueue queue);

}  // namespace partita::launch

#endif  // PARTITA_OPS_CUDA_LAUNCH_BATCH_NORM_RUNNING_H_
