// Launches of layer normalization. `stats` has two numbers for each row: its mean and 1 / sqrt(variance + epsilon).
// gamma, beta and their gradients are of the dtype's accumulator.
#ifndef PARTITA_OPS_CUDA_LAUNCH_LAYER_NORM_H_
#define PARTITA_OPS_CUDA_LAUNCH_LAYER_NORM_H_

#include "graph/value/dtype.h"
#include "ops/cuda/launch/launch.h"
#include "ops/cuda/launch/reduction_sizes.h"
#include "ops/functors/geometry.h"
#include "ops/functors/layer_norm.h"

namespace partita::launch {

// y may be x.
LaunchError LayerNorm(DType dtype, ChannelRows rows, double epsilon, const void* x, const void* gamma, const void* beta,
                      void* y, CudaQueue queue);

// dx may be dy.
LaunchError LayerNormInputGrad(DType dtype, ChannelRows rows, double epsilon, const void* x, const void* dy,
                               const void* gamma, void* dx, RowStatistics* stats, CudaQueue queue);

// Over the rows of the only group of `chunks`. `scratch`: partial_bytes(2), counters(false).
LaunchError LayerNormParameterGrad(DType dtype, const ColumnChunks& chunks, const void* x, const void* dy,
                                   const RowStatistics* stats, void* dgamma, void* dbeta, const SumScratch& scratch,
                                   CudaQueue queue);

}  // namespace partita::launch

#endif  // PARTITA_OPS_CUDA_LAUNCH_LAYER_NORM_H_
