// Our own vectorised loops on the stream's OpenMP threads: f32, and for contractions f64 as well. They refuse other
// dtypes, but those that only move elements. Each is tested against the f64 reference over a table of attributes and
// odd sizes (tests/ops/host).
#ifndef PARTITA_OPS_HOST_FAST_FAST_KERNELS_H_
#define PARTITA_OPS_HOST_FAST_FAST_KERNELS_H_

#include "ops/host/kernel/host_kernel.h"

namespace partita {

// contraction.cc: f32 and f64
absl::StatusOr<PreparedKernel> Im2ColConv2d(const LocalNode& node);
absl::StatusOr<PreparedKernel> Im2ColConv2dInputGrad(const LocalNode& node);  // and conv2d_input_grad_sum
absl::StatusOr<PreparedKernel> Im2ColConv2dWeightGrad(const LocalNode& node);
absl::StatusOr<PreparedKernel> BlockedMatMul(const LocalNode& node);
absl::StatusOr<PreparedKernel> BlockedBatchMatMul(const LocalNode& node);
absl::StatusOr<PreparedKernel> PackedMatMul(const LocalNode& node);  // f32

// weight_grad.cc
absl::StatusOr<PreparedKernel> FastConv2dWeightGrad(const LocalNode& node);

// cast.cc: between f32 and bf16; of bytes
absl::StatusOr<PreparedKernel> FastCast(const LocalNode& node);
absl::StatusOr<PreparedKernel> FastPixels(const LocalNode& node);

// elementwise.cc: of ops/functors/elementwise.h
absl::StatusOr<PreparedKernel> FastUnary(const LocalNode& node);
absl::StatusOr<PreparedKernel> FastBinary(const LocalNode& node);

// arithmetic.cc
absl::StatusOr<PreparedKernel> FastAdd(const LocalNode& node);
absl::StatusOr<PreparedKernel> FastScale(const LocalNode& node);
absl::StatusOr<PreparedKernel> FastDropout(const LocalNode& node);

// bias.cc
absl::StatusOr<PreparedKernel> FastBias(const LocalNode& node);
absl::StatusOr<PreparedKernel> FastBiasGrad(const LocalNode& node);

// optimizer.cc
absl::StatusOr<PreparedKernel> FastSumOfSquares(const LocalNode& node);
absl::StatusOr<PreparedKernel> FastUpdate(const LocalNode& node);     // of ops/functors/updates/updates.h
absl::StatusOr<PreparedKernel> FastRowUpdate(const LocalNode& node);  // of row_updates.h there

// shaping.cc: any dtype
absl::StatusOr<PreparedKernel> FastConcat(const LocalNode& node);
absl::StatusOr<PreparedKernel> FastSlice(const LocalNode& node);
absl::StatusOr<PreparedKernel> FastSliceGrad(const LocalNode& node);

// sums.cc
absl::StatusOr<PreparedKernel> FastSum(const LocalNode& node);     // and mean
absl::StatusOr<PreparedKernel> FastExpand(const LocalNode& node);  // expand_like and sum_grad as well
absl::StatusOr<PreparedKernel> FastMeanSquaredError(const LocalNode& node);
absl::StatusOr<PreparedKernel> FastMeanSquaredErrorGrad(const LocalNode& node);

// transpose.cc: any dtype
absl::StatusOr<PreparedKernel> FastTranspose(const LocalNode& node);

// pooling.cc, global_average_pool.cc
absl::StatusOr<PreparedKernel> FastMaxPool(const LocalNode& node);
absl::StatusOr<PreparedKernel> FastMaxPoolGrad(const LocalNode& node);
absl::StatusOr<PreparedKernel> FastAveragePool(const LocalNode& node);
absl::StatusOr<PreparedKernel> FastAveragePoolGrad(const LocalNode& node);
absl::StatusOr<PreparedKernel> FastGlobalAveragePool(const LocalNode& node);
absl::StatusOr<PreparedKernel> FastGlobalAveragePoolGrad(const LocalNode& node);

// batch_norm.cc, batch_norm_grad.cc
absl::StatusOr<PreparedKernel> FastBatchNormStatistics(const LocalNode& node);
absl::StatusOr<PreparedKernel> FastBatchNormNormalize(const LocalNode& node);
absl::StatusOr<PreparedKernel> FastBatchNormInference(const LocalNode& node);
absl::StatusOr<PreparedKernel> FastBatchNormGradientSums(const LocalNode& node);
absl::StatusOr<PreparedKernel> FastBatchNormNormalizeInputGrad(const LocalNode& node);
absl::StatusOr<PreparedKernel> FastBatchNormStatisticsGrad(const LocalNode& node);
absl::StatusOr<PreparedKernel> FastBatchNormInputGrad(const LocalNode& node);

// layer_norm.cc
absl::StatusOr<PreparedKernel> FastLayerNorm(const LocalNode& node);
absl::StatusOr<PreparedKernel> FastLayerNormInputGrad(const LocalNode& node);
absl::StatusOr<PreparedKernel> FastLayerNormParameterGrad(const LocalNode& node);

// rows.cc
absl::StatusOr<PreparedKernel> FastEmbedding(const LocalNode& node);
absl::StatusOr<PreparedKernel> FastEmbeddingGrad(const LocalNode& node);
absl::StatusOr<PreparedKernel> FastMergeRows(const LocalNode& node);

// sampled_softmax.cc
absl::StatusOr<PreparedKernel> FastSampledCrossEntropy(const LocalNode& node);
absl::StatusOr<PreparedKernel> FastSampledCrossEntropyGrad(const LocalNode& node);

// softmax.cc
absl::StatusOr<PreparedKernel> FastSoftmax(const LocalNode& node);
absl::StatusOr<PreparedKernel> FastSoftmaxGrad(const LocalNode& node);
absl::StatusOr<PreparedKernel> FastRowMaximum(const LocalNode& node);
absl::StatusOr<PreparedKernel> FastRowExponentials(const LocalNode& node);
absl::StatusOr<PreparedKernel> FastRowExponentialsGrad(const LocalNode& node);

// loss.cc
absl::StatusOr<PreparedKernel> FastLogSoftmax(const LocalNode& node);
absl::StatusOr<PreparedKernel> FastLogSoftmaxGrad(const LocalNode& node);
absl::StatusOr<PreparedKernel> FastSoftmaxCrossEntropy(const LocalNode& node);
absl::StatusOr<PreparedKernel> FastSoftmaxCrossEntropyGrad(const LocalNode& node);
absl::StatusOr<PreparedKernel> FastCrossEntropy(const LocalNode& node);
absl::StatusOr<PreparedKernel> FastCrossEntropyLogitsGrad(const LocalNode& node);

}  // namespace partita

#endif  // PARTITA_OPS_HOST_FAST_FAST_KERNELS_H_
