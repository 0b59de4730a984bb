// Launches of reductions: sums over rows and over everything. Sums are taken in double, in an order that only the sizes
// decide.
#ifndef PARTITA_OPS_CUDA_LAUNCH_REDUCTIONS_H_
#define PARTITA_OPS_CUDA_LAUNCH_REDUCTIONS_H_

#include "graph/value/dtype.h"
#include "ops/cuda/launch/launch.h"
#include "ops/cuda/launch/reduction_sizes.h"
#include "ops/functors/summed_runs.h"

namespace partita::launch {

// y[group][channel] = sum over the rows of x[group][row][channel], over `divisor`; x is of type `from`, y of `to`. The
// gradient of a bias (one group), a global average (a group per sample). `scratch`: partial_bytes(1), counters(false).
LaunchError SumOverRows(DType from, DType to, const ColumnChunks& chunks, const void* x, double divisor, void* y,
                        const SumScratch& scratch, CudaQueue queue);

// The same where several runs of dimensions are added up, or little: each sum is one thread's, or one block's. y is of
// the dtype's accumulator.
LaunchError SumOverRuns(DType dtype, const SummedRuns& runs, const void* x, double divisor, void* y, CudaQueue queue);

// y = x / divisor along the summed dimensions; x has type `from`, which may be the accumulator of `to`, the type of y.
LaunchError ExpandRuns(DType from, DType to, const SummedRuns& runs, const void* x, double divisor, void* y,
                       CudaQueue queue);

// The squared errors of samples of `numbers` each, where they lie; `weights` has one for each sample, or is null.
struct SquaredErrors {
  const void *predictions = nullptr, *targets = nullptr, *weights = nullptr;
  int64_t samples = 0, numbers = 0;
  double divisor = 1;

  int64_t elements() const { return samples * numbers; }
};
// Over one column of elements(). `scratch`: partial_bytes(1), counters(false).
LaunchError MeanSquaredError(DType dtype, const SquaredErrors& errors, const ColumnChunks& chunks, void* loss,
                             const SumScratch& scratch, CudaQueue queue);
// `dloss` is a scalar in device memory (null: 1); `d` may be the predictions.
LaunchError MeanSquaredErrorGrad(DType dtype, const SquaredErrors& errors, const void* dloss, void* d, CudaQueue queue);

// y = the sum of the squares of x.
struct SquaredTensor {
  const void* x = nullptr;
  void* y = nullptr;
  FlatChunks chunks;
};
// All tensors in two launches, or in two for each table that their descriptions fill. `workspace` holds the partial
// sums: partial_bytes of all chunks.
LaunchError SumsOfSquares(DType dtype, const SquaredTensor* tensors, int count, double* workspace, CudaQueue queue);

// y = (values[0] + ... + values[count - 1]) / divisor
LaunchError SumOfDoubles(DType dtype, const double* values, int64_t count, double divisor, void* y, CudaQueue queue);

}  // namespace partita::launch

#endif  // PARTITA_OPS_CUDA_LAUNCH_REDUCTIONS_H_
