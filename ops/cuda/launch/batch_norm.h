// Launches of batch normalization and its gradients (ops/functors/batch_norm.h). stats and dstats are f64
// [groups,2,channels]. `dtype` is that of x, dy, y and dx; all else is f32 if that is bf16.
#ifndef PARTITA_OPS_CUDA_LAUNCH_BATCH_NORM_H_
#define PARTITA_OPS_CUDA_LAUNCH_BATCH_NORM_H_

#include <cstdint>

#include "graph/value/dtype.h"
#include "ops/cuda/launch/launch.h"
#include "ops/cuda/launch/reduction_sizes.h"
#include "ops/functors/geometry.h"

namespace partita::launch {

// What a node has of these; the rest is null.
struct BatchNormLaunch {
  SampleGroups groups;
  double epsilon = 0;
  bool relu = false;
  const void *x = nullptr, *dy = nullptr;
  const void *shift = nullptr, *gamma = nullptr, *beta = nullptr;
  const double *stats = nullptr, *dstats = nullptr;
};

inline ColumnChunks ChunksOf(const SampleGroups& groups) {
  return MakeColumnChunks(groups.groups, groups.rows_per_group, groups.channels);
}

// Bytes of workspace for what is made once per group and channel: normalize, the input gradients (`gradient`).
int64_t BatchNormTableBytes(DType dtype, int64_t groups, int64_t channels, bool gradient);

// `workspace`: ChunksOf(groups).partial_bytes(2); of the gradient sums totals_bytes(2) more
LaunchError BatchNormStatistics(DType dtype, const BatchNormLaunch& node, double* stats, void* workspace,
                                CudaQueue queue);
LaunchError BatchNormGradientSums(DType dtype, const BatchNormLaunch& node, double* dstats, void* dgamma, void* dbeta,
                                  void* workspace, CudaQueue queue);

LaunchError BatchNormNormalize(DType dtype, const BatchNormLaunch& node, void* y, void* workspace, CudaQueue queue);
LaunchError BatchNormNormalizeInputGrad(DType dtype, const BatchNormLaunch& node, void* dx, void* workspace,
                                        CudaQueue queue);
// With the part that flows through the statistics (dstats).
LaunchError BatchNormInputGrad(DType dtype, const BatchNormLaunch& node, void* dx, void* workspace, CudaQueue queue);
// That part alone; needs no workspace.
LaunchError BatchNormStatisticsGrad(DType dtype, const BatchNormLaunch& node, void* dx, CudaQueue queue);

// By running statistics: `workspace` as for one group.
LaunchError BatchNormInference(DType dtype, const BatchNormLaunch& node, const void* running_mean,
                               const void* running_variance, void* y, void* workspace, CudaQueue queue);

struct RunningLaunch {
  int64_t groups = 0, channels = 0;
  double momentum = 0, count = 0;
  const double* stats = nullptr;
  const void *mean = nullptr, *variance = nullptr;
  const int32_t* apply = nullptr;  // null: 1
};
LaunchError BatchNormRunning(DType dtype, const RunningLaunch& node, void* mean, void* variance, CudaQueue queue);

}  // namespace partita::launch

#endif  // PARTITA_OPS_CUDA_LAUNCH_BATCH_NORM_H_
