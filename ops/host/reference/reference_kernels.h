// The last kernel of every op: plain serial loops for f32 and f64 that follow the definition word by word. Every faster
// kernel is tested against them. Sums over many elements are taken in double.
//
// Blocks may be empty: loops then run zero times, and sums are zero.
#ifndef PARTITA_OPS_HOST_REFERENCE_REFERENCE_KERNELS_H_
#define PARTITA_OPS_HOST_REFERENCE_REFERENCE_KERNELS_H_

#include "ops/host/kernel/host_kernel.h"

namespace partita {

// arithmetic.cc
absl::StatusOr<PreparedKernel> ReferenceConstant(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceCast(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceAdd(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceUnary(const LocalNode& node);   // of ops/functors/elementwise.h
absl::StatusOr<PreparedKernel> ReferenceBinary(const LocalNode& node);  // as above
absl::StatusOr<PreparedKernel> ReferenceScale(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceOver(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceBias(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceBiasGrad(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceBiasGradRelu(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceDropout(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceNoise(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferencePositions(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferencePixels(const LocalNode& node);

// shaping.cc
absl::StatusOr<PreparedKernel> ReferenceReshape(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceConcat(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceTranspose(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceSlice(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceSliceGrad(const LocalNode& node);

// sums.cc
absl::StatusOr<PreparedKernel> ReferenceSum(const LocalNode& node);     // and mean
absl::StatusOr<PreparedKernel> ReferenceExpand(const LocalNode& node);  // expand_like and sum_grad as well
absl::StatusOr<PreparedKernel> ReferenceMeanSquaredError(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceMeanSquaredErrorGrad(const LocalNode& node);

// contraction.cc
absl::StatusOr<PreparedKernel> ReferenceMatMul(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceBatchMatMul(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceMatMulBiasGrad(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceMatMulReluMask(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceMatMulReluGrad(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceConv2d(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceConv2dInputGrad(const LocalNode& node);  // and conv2d_input_grad_sum
absl::StatusOr<PreparedKernel> ReferenceConv2dWeightGrad(const LocalNode& node);

// pooling.cc
absl::StatusOr<PreparedKernel> ReferenceMaxPool(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceMaxPoolGrad(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceAveragePool(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceAveragePoolGrad(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceGlobalAveragePool(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceGlobalAveragePoolGrad(const LocalNode& node);

// halo.cc
absl::StatusOr<PreparedKernel> ReferenceHaloExchangeAdjoint(const LocalNode& node);

// relu_mask.cc: a node with y, the result of a relu, as its last input, and what the relu lets through of its input
// `dy` as its last output. The rest of the node reads that in place of dy, by the kernel that `prepare` makes.
absl::StatusOr<PreparedKernel> ReferenceBehindRelu(const LocalNode& node, size_t dy,
                                                   absl::StatusOr<PreparedKernel> (*prepare)(const LocalNode&));

// batch_norm.cc, batch_norm_grad.cc
absl::StatusOr<PreparedKernel> ReferenceBatchNormForward(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceBatchNormBackward(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceBatchNormBackwardRelu(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceBatchNormGradientSumsRelu(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceBatchNormStatistics(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceBatchNormNormalize(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceBatchNormRunning(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceBatchNormInference(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceBatchNormGradientSums(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceBatchNormNormalizeInputGrad(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceBatchNormStatisticsGrad(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceBatchNormInputGrad(const LocalNode& node);

// layer_norm.cc
absl::StatusOr<PreparedKernel> ReferenceLayerNorm(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceLayerNormInputGrad(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceLayerNormParameterGrad(const LocalNode& node);

// attention.cc
absl::StatusOr<PreparedKernel> ReferenceAttentionContext(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceAttentionContextGrad(const LocalNode& node);

// dot_product_attention.cc
absl::StatusOr<PreparedKernel> ReferenceDotProductForward(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceDotProductGrad(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceDotProductBiasGrad(const LocalNode& node);

// lstm.cc
absl::StatusOr<PreparedKernel> ReferenceLstmSteps(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceLstmStepsGrad(const LocalNode& node);  // with and without projection

// loss.cc
absl::StatusOr<PreparedKernel> ReferenceSoftmax(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceSoftmaxGrad(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceLogSoftmax(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceLogSoftmaxGrad(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceSoftmaxCrossEntropy(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceSoftmaxCrossEntropyGrad(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceCountLabels(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceAccuracy(const LocalNode& node);

// rows.cc
absl::StatusOr<PreparedKernel> ReferenceEmbedding(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceEmbeddingGrad(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceMergeRows(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceRowUpdate(const LocalNode& node);  // of ops/functors/updates/row_updates.h

// sampled_softmax.cc
absl::StatusOr<PreparedKernel> ReferenceLogUniformIds(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceSampledCrossEntropy(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceSampledCrossEntropyGrad(const LocalNode& node);

// split_softmax.cc
absl::StatusOr<PreparedKernel> ReferenceRowMaximum(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceRowExponentials(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceRowExponentialsGrad(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceSoftmaxNormalize(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceSoftmaxNormalizeGrad(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceLogSoftmaxNormalize(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceLogSoftmaxNormalizeGrad(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceCrossEntropy(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceCrossEntropyLogitsGrad(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceCrossEntropySumGrad(const LocalNode& node);

// optimizer.cc
absl::StatusOr<PreparedKernel> ReferenceLearningRate(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceIncrement(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceAllFinite(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceSumOfSquares(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceClipScale(const LocalNode& node);
absl::StatusOr<PreparedKernel> ReferenceUpdate(const LocalNode& node);  // of ops/functors/updates/updates.h

}  // namespace partita

#endif  // PARTITA_OPS_HOST_REFERENCE_REFERENCE_KERNELS_H_
