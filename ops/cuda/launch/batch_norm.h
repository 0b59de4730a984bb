// Launches of batch normalization and its gradients (ops/functors/batch_norm.h), one each. stats and dstats are f64
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
  const void* residual = nullptr;  // added before the relu
  // The result of a relu, whose gradient of dy is written to `masked` and takes the place of dy.
  const void* y = nullptr;
  void* masked = nullptr;
  // Elements from a row of channels to the next, so that a tensor may be some channels of a wider one; 0: as many as
  // there are channels. out_pitch: of the first result.
  int64_t x_pitch = 0, dy_pitch = 0, out_pitch = 0, residual_pitch = 0, y_pitch = 0, masked_pitch = 0;
  const void *shift = nullptr, *gamma = nullptr, *beta = nullptr;
  const double *stats = nullptr, *dstats = nullptr;
};

inline ColumnChunks ChunksOf(const SampleGroups& groups) {
  return MakeColumnChunks(groups.groups, groups.rows_per_group, groups.channels);
}

// `scratch`: ChunksOf(groups).partial_bytes(2), of the gradient sums totals_bytes(2) more; counters(false) and
// counters(true).
LaunchError BatchNormStatistics(DType dtype, const BatchNormLaunch& node, double* stats, const SumScratch& scratch,
                                CudaQueue queue);
LaunchError BatchNormGradientSums(DType dtype, const BatchNormLaunch& node, double* dstats, void* dgamma, void* dbeta,
                                  const SumScratch& scratch, CudaQueue queue);

// Of a small one (ops/functors/batch_norm.h) all that a block can do at once: forward statistics and y; backward
// the gradients of the parameters and dx, which may lie at dy.
LaunchError SmallBatchNorm(DType dtype, const BatchNormLaunch& node, double* stats, void* y, CudaQueue queue);
LaunchError SmallBatchNormGrad(DType dtype, const BatchNormLaunch& node, void* dx, void* dgamma, void* dbeta,
                               CudaQueue queue);

LaunchError BatchNormNormalize(DType dtype, const BatchNormLaunch& node, void* y, CudaQueue queue);
LaunchError BatchNormNormalizeInputGrad(DType dtype, const BatchNormLaunch& node, void* dx, CudaQueue queue);
// With the part that flows through the statistics (dstats).
LaunchError BatchNormInputGrad(DType dtype, const BatchNormLaunch& node, void* dx, CudaQueue queue);
// That part alone.
LaunchError BatchNormStatisticsGrad(DType dtype, const BatchNormLaunch& node, void* dx, CudaQueue queue);

// By running statistics.
LaunchError BatchNormInference(DType dtype, const BatchNormLaunch& node, const void* running_mean,
                               const void* running_variance, void* y, CudaQueue queue);

}  // namespace partita::launch

#endif  // PARTITA_OPS_CUDA_LAUNCH_BATCH_NORM_H_
