// The kernels of our own .cu files: one for every op, the last of its list. f32, f64 and, where mixed precision wants
// it, bf16 (moves of bytes: any dtype).
#ifndef PARTITA_OPS_CUDA_OWN_OWN_KERNELS_H_
#define PARTITA_OPS_CUDA_OWN_OWN_KERNELS_H_

#include "ops/cuda/kernel/cuda_kernel.h"

namespace partita {

// arithmetic.cc
absl::StatusOr<PreparedCudaKernel> CudaConstant(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaCast(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaAdd(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaUnary(const LocalNode& node);   // of ops/functors/elementwise.h
absl::StatusOr<PreparedCudaKernel> CudaBinary(const LocalNode& node);  // as above
absl::StatusOr<PreparedCudaKernel> CudaScale(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaOver(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaBias(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaBiasGrad(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaDropout(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaNoise(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaPositions(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaPixels(const LocalNode& node);

// attention.cc
absl::StatusOr<PreparedCudaKernel> CudaAttentionContext(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaAttentionContextGrad(const LocalNode& node);

// dot_product_attention.cc
absl::StatusOr<PreparedCudaKernel> CudaDotProductForward(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaDotProductGrad(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaDotProductBiasGrad(const LocalNode& node);

// shaping.cc
absl::StatusOr<PreparedCudaKernel> CudaReshape(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaTranspose(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaConcat(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaSlice(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaSliceGrad(const LocalNode& node);

// halo.cc
absl::StatusOr<PreparedCudaKernel> CudaHaloExchangeAdjoint(const LocalNode& node);

// contraction.cc
absl::StatusOr<PreparedCudaKernel> CudaMatMul(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaBatchMatMul(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaMatMulBiasGrad(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaMatMulReluMask(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaMatMulReluGrad(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaConv2d(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaConv2dInputGrad(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaConv2dInputGradSum(const LocalNode& node);  // gradient_sum.cc
absl::StatusOr<PreparedCudaKernel> CudaConv2dWeightGrad(const LocalNode& node);

// pooling.cc
absl::StatusOr<PreparedCudaKernel> CudaMaxPool(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaMaxPoolGrad(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaAveragePool(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaAveragePoolGrad(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaGlobalAveragePool(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaGlobalAveragePoolGrad(const LocalNode& node);

// batch_norm.cc
absl::StatusOr<PreparedCudaKernel> CudaBatchNormForward(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaBatchNormBackward(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaBatchNormStatistics(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaBatchNormNormalize(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaBatchNormRunning(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaBatchNormInference(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaBatchNormGradientSums(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaBatchNormNormalizeInputGrad(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaBatchNormStatisticsGrad(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaBatchNormInputGrad(const LocalNode& node);

// layer_norm.cc
absl::StatusOr<PreparedCudaKernel> CudaLayerNorm(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaLayerNormInputGrad(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaLayerNormParameterGrad(const LocalNode& node);

// lstm.cc
// lstm_steps and its gradients. Of few rows: refuses those whose products a library
// computes faster.
absl::StatusOr<PreparedCudaKernel> CudaLstm(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaLstmOfFewRows(const LocalNode& node);

// loss.cc
absl::StatusOr<PreparedCudaKernel> CudaSoftmax(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaSoftmaxGrad(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaLogSoftmax(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaLogSoftmaxGrad(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaSoftmaxCrossEntropy(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaSoftmaxCrossEntropyGrad(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaCountLabels(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaAccuracy(const LocalNode& node);

// sums.cc
absl::StatusOr<PreparedCudaKernel> CudaSumOfSquares(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaSum(const LocalNode& node);     // and mean
absl::StatusOr<PreparedCudaKernel> CudaExpand(const LocalNode& node);  // expand_like and sum_grad as well
absl::StatusOr<PreparedCudaKernel> CudaMeanSquaredError(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaMeanSquaredErrorGrad(const LocalNode& node);

// rows.cc
absl::StatusOr<PreparedCudaKernel> CudaEmbedding(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaEmbeddingGrad(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaMergeRows(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaRowUpdate(const LocalNode& node);

// sampled_softmax.cc
absl::StatusOr<PreparedCudaKernel> CudaLogUniformIds(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaSampledCrossEntropy(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaSampledCrossEntropyGrad(const LocalNode& node);

// split_softmax.cc
absl::StatusOr<PreparedCudaKernel> CudaRowMaximum(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaRowExponentials(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaRowExponentialsGrad(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaSoftmaxNormalize(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaSoftmaxNormalizeGrad(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaLogSoftmaxNormalize(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaLogSoftmaxNormalizeGrad(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaCrossEntropy(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaCrossEntropyLogitsGrad(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaCrossEntropySumGrad(const LocalNode& node);

// optimizer.cc
absl::StatusOr<PreparedCudaKernel> CudaLearningRate(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaIncrement(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaAllFinite(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaClipScale(const LocalNode& node);
absl::StatusOr<PreparedCudaKernel> CudaUpdate(const LocalNode& node);  // of ops/functors/updates/updates.h

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_OWN_OWN_KERNELS_H_
