#include "ops/host/kernel_table.h"

#include <map>
#include <utility>

#include "ops/functors/elementwise.h"
#include "ops/functors/updates/row_updates.h"
#include "ops/functors/updates/updates.h"
#include "ops/host/fast/fast_kernels.h"
#include "ops/host/grouped/grouped_kernels.h"
#include "ops/host/host_kernels.h"
#include "ops/host/kernel/target_clones.h"
#include "ops/host/onednn/onednn_kernels.h"
#include "ops/host/recurrence/recurrence_kernels.h"
#include "ops/host/reference/reference_kernels.h"
#include "ops/host/winograd/winograd_kernels.h"

// Kernels that builds without OpenMP and oneDNN (the thread sanitizer's) leave out.
#ifdef PARTITA_NO_OPENMP
#define FAST(kernel) nullptr
#else
#define FAST(kernel) kernel
#endif

namespace partita {
namespace {

using enum Bf16Nodes;
using KernelTable = std::map<std::string, std::vector<HostKernelEntry>>;

bool LacksWideVectors() { return !HasWideVectors(); }

// The same with the ops of the lists in ops/functors/elementwise.h and ops/functors/updates/updates.h, and without
// entries for other machines and kernels that the build leaves out.
KernelTable WithLists(KernelTable table) {
  for (const std::string& op : NamesOf(UnaryOps())) {
    table[op] = {{"fast", FAST(FastUnary)}, {"reference", ReferenceUnary}};
  }
  for (const std::string& op : NamesOf(BinaryOps())) {
    table[op] = {{"fast", FAST(FastBinary)}, {"reference", ReferenceBinary}};
  }
  for (const std::string& op : UpdateNames()) {
    table[op] = {{"fast", FAST(FastUpdate), kTaken}, {"reference", ReferenceUpdate, kTaken}};
  }
  for (const std::string& op : RowUpdateNames()) {
    table[op] = {{"fast", FAST(FastRowUpdate)}, {"reference", ReferenceRowUpdate}};
  }
  for (auto& [op, entries] : table) {
    std::erase_if(entries, [](const HostKernelEntry& entry) { return entry.prepare == nullptr || !entry.is_for(); });
  }
  return table;
}

const KernelTable& Table() {
  static const KernelTable& table = *new KernelTable(WithLists({
      {"constant", {{"reference", ReferenceConstant, kTaken}}},
      {"cast", {{"fast", FAST(FastCast), kTaken}, {"reference", ReferenceCast, kTaken}}},
      {"pixels", {{"fast", FAST(FastPixels)}, {"reference", ReferencePixels}}},
      {"reshape", {{"reference", ReferenceReshape, kTaken}}},
      {"conv2d",
       {{"winograd", FAST(WinogradConv2d), kRefused},
        {"grouped", FAST(GroupedConv2d), kTaken},
        {"onednn", FAST(OneDnnConv2d), kTaken},
        {"im2col", FAST(Im2ColConv2d)},
        {"reference", ReferenceConv2d}}},
      {"conv2d_epilogue",
       {{"winograd", FAST(WinogradConv2d), kRefused},
        {"grouped", FAST(GroupedConv2d), kTaken},
        {"onednn", FAST(OneDnnConv2d), kTaken},
        {"im2col", FAST(Im2ColConv2d)},
        {"reference", ReferenceConv2d}}},
      {"conv2d_input_grad",
       {{"winograd", FAST(WinogradConv2dInputGrad), kRefused},
        {"grouped", FAST(GroupedConv2dInputGrad), kTaken},
        {"onednn", FAST(OneDnnConv2dInputGrad), kTaken},
        {"im2col", FAST(Im2ColConv2dInputGrad)},
        {"reference", ReferenceConv2dInputGrad}}},
      {"conv2d_input_grad_sum",
       {{"onednn", FAST(OneDnnConv2dInputGradSum), kTaken},
        {"im2col", FAST(Im2ColConv2dInputGrad)},
        {"reference", ReferenceConv2dInputGrad}}},
      {"conv2d_weight_grad",
       {{"winograd", FAST(WinogradConv2dWeightGrad), kRefused},
        {"grouped", FAST(GroupedConv2dWeightGrad), kTaken},
        {"fast", FAST(FastConv2dWeightGrad), kWidened, {}, LacksWideVectors},
        {"onednn", FAST(OneDnnConv2dWeightGrad), kTaken},
        {"fast", FAST(FastConv2dWeightGrad), kWidened, {}, HasWideVectors},  // there oneDNN's is faster
        {"im2col", FAST(Im2ColConv2dWeightGrad)},
        {"reference", ReferenceConv2dWeightGrad}}},
      {"matmul",
       {{"packed", FAST(PackedMatMul), kRefused, {}, HasWideVectors},  // there ours is faster
        {"onednn", FAST(OneDnnMatMul), kTaken},
        {"packed", FAST(PackedMatMul), kRefused, {}, LacksWideVectors},
        {"blocked", FAST(BlockedMatMul)},
        {"reference", ReferenceMatMul}}},
      {"matmul_epilogue",
       {{"packed", FAST(PackedMatMul), kRefused, {}, HasWideVectors},  // there ours is faster
        {"onednn", FAST(OneDnnMatMul), kTaken},
        {"packed", FAST(PackedMatMul), kRefused, {}, LacksWideVectors},
        {"blocked", FAST(BlockedMatMul)},
        {"reference", ReferenceMatMul}}},
      {"batch_matmul",
       {{"onednn", FAST(OneDnnBatchMatMul), kTaken},
        {"blocked", FAST(BlockedBatchMatMul)},
        {"reference", ReferenceBatchMatMul}}},
      {"matmul_bias_grad", {{"reference", ReferenceMatMulBiasGrad}}},
      {"matmul_relu_mask", {{"reference", ReferenceMatMulReluMask}}},
      {"matmul_relu_grad", {{"reference", ReferenceMatMulReluGrad}}},
      {"stop_gradient", {{"reference", ReferenceReshape, kTaken}}},
      {"scale", {{"fast", FAST(FastScale)}, {"reference", ReferenceScale}}},
      {"over", {{"reference", ReferenceOver}}},
      {"bias", {{"fast", FAST(FastBias)}, {"reference", ReferenceBias}}},
      {"bias_grad_relu", {{"reference", ReferenceBiasGradRelu}}},
      {"bias_grad", {{"fast", FAST(FastBiasGrad)}, {"reference", ReferenceBiasGrad}}},
      {"add", {{"fast", FAST(FastAdd)}, {"reference", ReferenceAdd}}},
      {"dropout", {{"fast", FAST(FastDropout)}, {"reference", ReferenceDropout}}},
      {"noise", {{"reference", ReferenceNoise}}},
      {"positions", {{"reference", ReferencePositions}}},
      {"concat", {{"fast", FAST(FastConcat), kTaken}, {"reference", ReferenceConcat, kTaken}}},
      {"slice", {{"fast", FAST(FastSlice), kTaken}, {"reference", ReferenceSlice, kTaken}}},
      {"slice_grad", {{"fast", FAST(FastSliceGrad), kTaken}, {"reference", ReferenceSliceGrad, kTaken}}},
      {"transpose", {{"fast", FAST(FastTranspose), kTaken}, {"reference", ReferenceTranspose, kTaken}}},
      {"max_pool", {{"fast", FAST(FastMaxPool), kWidened, {{0}, {0}}}, {"reference", ReferenceMaxPool}}},
      {"max_pool_grad",
       {{"fast", FAST(FastMaxPoolGrad), kWidened, {{0, 1, 2}, {0}}}, {"reference", ReferenceMaxPoolGrad}}},
      {"average_pool", {{"fast", FAST(FastAveragePool), kWidened, {{0}, {0}}}, {"reference", ReferenceAveragePool}}},
      {"average_pool_grad",
       {{"fast", FAST(FastAveragePoolGrad), kWidened, {{0}, {0}}}, {"reference", ReferenceAveragePoolGrad}}},
      {"global_average_pool", {{"fast", FAST(FastGlobalAveragePool)}, {"reference", ReferenceGlobalAveragePool}}},
      {"global_average_pool_grad",
       {{"fast", FAST(FastGlobalAveragePoolGrad)}, {"reference", ReferenceGlobalAveragePoolGrad}}},
      {"halo_exchange_adjoint", {{"reference", ReferenceHaloExchangeAdjoint}}},
      {"batch_norm_forward", {{"reference", ReferenceBatchNormForward}}},
      {"batch_norm_forward_add", {{"reference", ReferenceBatchNormForward}}},
      {"batch_norm_normalize_add", {{"reference", ReferenceBatchNormNormalize}}},
      {"batch_norm_backward", {{"reference", ReferenceBatchNormBackward}}},
      {"batch_norm_backward_relu", {{"reference", ReferenceBatchNormBackwardRelu}}},
      {"batch_norm_gradient_sums_relu", {{"reference", ReferenceBatchNormGradientSumsRelu}}},
      {"batch_norm_statistics",
       {{"fast", FAST(FastBatchNormStatistics), kWidened, {{0}, {}}}, {"reference", ReferenceBatchNormStatistics}}},
      {"batch_norm_normalize",
       {{"fast", FAST(FastBatchNormNormalize), kWidened, {{0}, {0}}}, {"reference", ReferenceBatchNormNormalize}}},
      {"batch_norm_inference",
       {{"fast", FAST(FastBatchNormInference), kWidened, {{0}, {0}}}, {"reference", ReferenceBatchNormInference}}},
      {"batch_norm_running", {{"reference", ReferenceBatchNormRunning}}},
      {"batch_norm_gradient_sums",
       {{"fast", FAST(FastBatchNormGradientSums), kWidened, {{0, 1}, {}}},
        {"reference", ReferenceBatchNormGradientSums}}},
      {"batch_norm_normalize_input_grad",
       {{"fast", FAST(FastBatchNormNormalizeInputGrad), kWidened, {{0, 1}, {0}}},
        {"reference", ReferenceBatchNormNormalizeInputGrad}}},
      {"batch_norm_statistics_grad",
       {{"fast", FAST(FastBatchNormStatisticsGrad), kWidened, {{0}, {0}}},
        {"reference", ReferenceBatchNormStatisticsGrad}}},
      {"batch_norm_input_grad",
       {{"fast", FAST(FastBatchNormInputGrad), kWidened, {{0, 1}, {0}}}, {"reference", ReferenceBatchNormInputGrad}}},
      {"layer_norm", {{"fast", FAST(FastLayerNorm)}, {"reference", ReferenceLayerNorm}}},
      {"layer_norm_input_grad", {{"fast", FAST(FastLayerNormInputGrad)}, {"reference", ReferenceLayerNormInputGrad}}},
      {"layer_norm_parameter_grad",
       {{"fast", FAST(FastLayerNormParameterGrad)}, {"reference", ReferenceLayerNormParameterGrad}}},
      {"lstm_steps", {{"fast", FAST(FastLstmSteps)}, {"reference", ReferenceLstmSteps}}},
      {"lstm_steps_grad", {{"fast", FAST(FastLstmStepsGrad)}, {"reference", ReferenceLstmStepsGrad}}},
      {"lstm_projected_steps_grad", {{"fast", FAST(FastLstmStepsGrad)}, {"reference", ReferenceLstmStepsGrad}}},
      {"attention_context", {{"fast", FAST(FastAttentionContext)}, {"reference", ReferenceAttentionContext}}},
      {"attention_context_grad",
       {{"fast", FAST(FastAttentionContextGrad)}, {"reference", ReferenceAttentionContextGrad}}},
      {"scaled_dot_product_attention_forward",
       {{"fast", FAST(FastDotProductForward)}, {"reference", ReferenceDotProductForward}}},
      {"scaled_dot_product_attention_grad",
       {{"fast", FAST(FastDotProductGrad)}, {"reference", ReferenceDotProductGrad}}},
      {"scaled_dot_product_attention_bias_grad",
       {{"fast", FAST(FastDotProductBiasGrad)}, {"reference", ReferenceDotProductBiasGrad}}},
      {"softmax", {{"fast", FAST(FastSoftmax)}, {"reference", ReferenceSoftmax}}},
      {"softmax_grad", {{"fast", FAST(FastSoftmaxGrad)}, {"reference", ReferenceSoftmaxGrad}}},
      {"log_softmax", {{"fast", FAST(FastLogSoftmax)}, {"reference", ReferenceLogSoftmax}}},
      {"log_softmax_grad", {{"fast", FAST(FastLogSoftmaxGrad)}, {"reference", ReferenceLogSoftmaxGrad}}},
      {"softmax_cross_entropy", {{"fast", FAST(FastSoftmaxCrossEntropy)}, {"reference", ReferenceSoftmaxCrossEntropy}}},
      {"softmax_cross_entropy_grad",
       {{"fast", FAST(FastSoftmaxCrossEntropyGrad)}, {"reference", ReferenceSoftmaxCrossEntropyGrad}}},
      {"count_labels", {{"reference", ReferenceCountLabels}}},
      {"sum", {{"fast", FAST(FastSum)}, {"reference", ReferenceSum, kTaken}}},
      {"mean", {{"fast", FAST(FastSum)}, {"reference", ReferenceSum, kTaken}}},
      {"sum_grad", {{"fast", FAST(FastExpand)}, {"reference", ReferenceExpand, kTaken}}},
      {"expand", {{"fast", FAST(FastExpand)}, {"reference", ReferenceExpand, kTaken}}},
      {"expand_like", {{"fast", FAST(FastExpand)}, {"reference", ReferenceExpand, kTaken}}},
      {"mean_squared_error", {{"fast", FAST(FastMeanSquaredError)}, {"reference", ReferenceMeanSquaredError}}},
      {"mean_squared_error_grad",
       {{"fast", FAST(FastMeanSquaredErrorGrad)}, {"reference", ReferenceMeanSquaredErrorGrad}}},
      {"row_maximum", {{"fast", FAST(FastRowMaximum)}, {"reference", ReferenceRowMaximum}}},
      {"row_exponentials", {{"fast", FAST(FastRowExponentials)}, {"reference", ReferenceRowExponentials}}},
      {"row_exponentials_grad", {{"fast", FAST(FastRowExponentialsGrad)}, {"reference", ReferenceRowExponentialsGrad}}},
      {"softmax_normalize", {{"reference", ReferenceSoftmaxNormalize}}},
      {"softmax_normalize_grad", {{"reference", ReferenceSoftmaxNormalizeGrad}}},
      {"log_softmax_normalize", {{"reference", ReferenceLogSoftmaxNormalize}}},
      {"log_softmax_normalize_grad", {{"reference", ReferenceLogSoftmaxNormalizeGrad}}},
      {"cross_entropy", {{"fast", FAST(FastCrossEntropy)}, {"reference", ReferenceCrossEntropy}}},
      {"cross_entropy_logits_grad",
       {{"fast", FAST(FastCrossEntropyLogitsGrad)}, {"reference", ReferenceCrossEntropyLogitsGrad}}},
      {"cross_entropy_sum_grad", {{"reference", ReferenceCrossEntropySumGrad}}},
      {"accuracy", {{"reference", ReferenceAccuracy}}},
      {"embedding", {{"fast", FAST(FastEmbedding)}, {"reference", ReferenceEmbedding}}},
      {"embedding_grad", {{"fast", FAST(FastEmbeddingGrad)}, {"reference", ReferenceEmbeddingGrad}}},
      {"log_uniform_ids", {{"reference", ReferenceLogUniformIds}}},
      {"sampled_cross_entropy", {{"fast", FAST(FastSampledCrossEntropy)}, {"reference", ReferenceSampledCrossEntropy}}},
      {"sampled_cross_entropy_grad",
       {{"fast", FAST(FastSampledCrossEntropyGrad)}, {"reference", ReferenceSampledCrossEntropyGrad}}},
      {"merge_rows", {{"fast", FAST(FastMergeRows)}, {"reference", ReferenceMergeRows}}},
      {"learning_rate", {{"reference", ReferenceLearningRate}}},
      {"increment", {{"reference", ReferenceIncrement}}},
      {"all_finite", {{"reference", ReferenceAllFinite}}},
      {"sum_of_squares", {{"fast", FAST(FastSumOfSquares)}, {"reference", ReferenceSumOfSquares}}},
      {"clip_scale", {{"reference", ReferenceClipScale}}},
  }));
  return table;
}

}  // namespace

const std::vector<HostKernelEntry>& HostKernelEntries(const std::string& op) {
  static const std::vector<HostKernelEntry>& none = *new std::vector<HostKernelEntry>();
  const auto found = Table().find(op);
  return found == Table().end() ? none : found->second;
}

std::vector<std::string> HostKernelOps() {
  std::vector<std::string> ops;
  for (const auto& [op, entries] : Table()) ops.push_back(op);
  return ops;
}

}  // namespace partita
