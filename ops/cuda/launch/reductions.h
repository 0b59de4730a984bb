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

// sums[channel] of the rows of dy where y, the result of a relu, is positive; masked has these rows, and 0 elsewhere.
LaunchError SumBehindRelu(DType from, DType to, const ColumnChunks& chunks, const void* dy, const void* y, void* masked,
                          void* sums, const SumScratch& scratch, CudaQueue queue);

// SumOverRows where several runs of dimensions are added up, or little: each sum is one thread's, or one block's. y is
// of the dtype's accumulator.
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

// A tensor whose squares are added up. `narrow`: it is bf16, as if it was cast.
struct SquaredTensor {
  const void* x = nullptr;
  int64_t elements = 0, chunk_elements = 1;
  bool narrow = false;
};
// y = the sum of the squares of all tensors, each rounded to the dtype, added in their order. One launch for each table
// that the descriptions fill. `scratch`: partial_bytes of the chunks of all tensors and a double for each tensor;
// count + 1 counters.
LaunchError SumOfSquares(DType dtype, const SquaredTensor* tensors, int count, void* y, const SumScratch& scratch,
                         CudaQueue queue);

// y = (values[0] + ... + values[count - 1]) / divisor
LaunchError SumOfDoubles(DType dtype, const double* values, int64_t count, double divisor, void* y, CudaQueue queue);

}  // namespace partita::launch

#endif  // PARTITA_OPS_CUDA_LAUNCH_REDUCTIONS_H_
