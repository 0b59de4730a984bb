#include "ops/cuda/kernel_table.h"

#include <map>

#include "ops/cuda/own/gradient_sum.h"
#include "ops/cuda/own/own_kernels.h"
#include "ops/functors/elementwise.h"
#include "ops/functors/updates/row_updates.h"
#include "ops/functors/updates/updates.h"

namespace partita {
namespace {

using KernelTable = std::map<std::string, std::vector<CudaKernelEntry>>;

template <absl::StatusOr<PreparedCudaKernel> (*kPrepare)(const LocalNode&)>
absl::StatusOr<PreparedCudaKernel> Own(const LocalNode& node, ForeignKernels&) {
  return kPrepare(node);
}

absl::StatusOr<PreparedCudaKernel> MatMul(const LocalNode& node, ForeignKernels& foreign) {
  return foreign.MatMul(node);
}

absl::StatusOr<PreparedCudaKernel> Lstm(const LocalNode& node, ForeignKernels& foreign) { return foreign.Lstm(node); }

absl::StatusOr<PreparedCudaKernel> LstmOfFewRows(const LocalNode& node, ForeignKernels& foreign) {
  if (node.outputs[0].dtype == DType::kF32 && foreign.allows_tf32()) {
    return InvalidArgument("a library multiplies in TF32, which is faster");
  }
  return CudaLstmOfFewRows(node);
}

absl::StatusOr<PreparedCudaKernel> Convolution(const LocalNode& node, ForeignKernels& foreign) {
  return foreign.Convolution(node);
}

absl::StatusOr<PreparedCudaKernel> ConvolutionSum(const LocalNode& node, ForeignKernels& foreign) {
  return GradientSum(node, [&foreign](const LocalNode& term) { return foreign.Convolution(term); });
}

// The same with the ops of the lists in ops/functors/elementwise.h and ops/functors/updates/updates.h.
KernelTable WithLists(KernelTable table) {
  for (const std::string& op : NamesOf(UnaryOps())) table[op] = {{"own", Own<CudaUnary>}};
  for (const std::string& op : NamesOf(BinaryOps())) table[op] = {{"own", Own<CudaBinary>}};
  for (const std::string& op : UpdateNames()) table[op] = {{"own", Own<CudaUpdate>}};
  for (const std::string& op : RowUpdateNames()) table[op] = {{"own", Own<CudaRowUpdate>}};
  return table;
}

const KernelTable& Table() {
  static const KernelTable& table = *new KernelTable(WithLists({
      {"constant", {{"own", Own<CudaConstant>}}},
      {"cast", {{"own", Own<CudaCast>}}},
      {"pixels", {{"own", Own<CudaPixels>}}},
      {"reshape", {{"own", Own<CudaReshape>}}},
      {"transpose", {{"own", Own<CudaTranspose>}}},
      {"conv2d", {{"cudnn", Convolution}, {"reference", Own<CudaConv2d>}}},
      {"conv2d_epilogue", {{"cudnn", Convolution}, {"reference", Own<CudaConv2d>}}},
      {"conv2d_input_grad", {{"cudnn", Convolution}, {"reference", Own<CudaConv2dInputGrad>}}},
      {"conv2d_input_grad_sum", {{"cudnn", ConvolutionSum}, {"reference", Own<CudaConv2dInputGradSum>}}},
      {"conv2d_weight_grad", {{"cudnn", Convolution}, {"reference", Own<CudaConv2dWeightGrad>}}},
      {"matmul", {{"cublaslt", MatMul}, {"reference", Own<CudaMatMul>}}},
      {"batch_matmul", {{"cublaslt", MatMul}, {"reference", Own<CudaBatchMatMul>}}},
      {"matmul_epilogue", {{"cublaslt", MatMul}, {"reference", Own<CudaMatMul>}}},
      {"matmul_bias_grad", {{"cublaslt", MatMul}, {"reference", Own<CudaMatMulBiasGrad>}}},
      {"matmul_relu_mask", {{"cublaslt", MatMul}, {"reference", Own<CudaMatMulReluMask>}}},
      {"matmul_relu_grad", {{"cublaslt", MatMul}, {"reference", Own<CudaMatMulReluGrad>}}},
      {"stop_gradient", {{"own", Own<CudaReshape>}}},
      {"scale", {{"own", Own<CudaScale>}}},
      {"over", {{"own", Own<CudaOver>}}},
      {"bias", {{"own", Own<CudaBias>}}},
      {"bias_grad_relu", {{"own", Own<CudaBiasGrad>}}},
      {"bias_grad", {{"own", Own<CudaBiasGrad>}}},
      {"add", {{"own", Own<CudaAdd>}}},
      {"dropout", {{"own", Own<CudaDropout>}}},
      {"noise", {{"own", Own<CudaNoise>}}},
      {"positions", {{"own", Own<CudaPositions>}}},
      {"concat", {{"own", Own<CudaConcat>}}},
      {"slice", {{"own", Own<CudaSlice>}}},
      {"slice_grad", {{"own", Own<CudaSliceGrad>}}},
      {"max_pool", {{"own", Own<CudaMaxPool>, {{0}, {0}}}}},
      {"max_pool_grad", {{"own", Own<CudaMaxPoolGrad>, {{0, 1, 2}, {0}}}}},
      {"average_pool", {{"own", Own<CudaAveragePool>, {{0}, {0}}}}},
      {"average_pool_grad", {{"own", Own<CudaAveragePoolGrad>, {{0}, {0}}}}},
      {"global_average_pool", {{"own", Own<CudaGlobalAveragePool>}}},
      {"global_average_pool_grad", {{"own", Own<CudaGlobalAveragePoolGrad>}}},
      {"halo_exchange_adjoint", {{"own", Own<CudaHaloExchangeAdjoint>}}},
      {"batch_norm_forward", {{"own", Own<CudaBatchNormForward>, {{0}, {0}}}}},
      {"batch_norm_forward_add", {{"own", Own<CudaBatchNormForward>, {{0, 4}, {0}}}}},
      {"batch_norm_backward", {{"own", Own<CudaBatchNormBackward>, {{0, 1}, {0}}}}},
      {"batch_norm_backward_relu", {{"own", Own<CudaBatchNormBackward>, {{0, 1, 6}, {0, 3}}}}},
      {"batch_norm_statistics", {{"own", Own<CudaBatchNormStatistics>}}},
      {"batch_norm_normalize", {{"own", Own<CudaBatchNormNormalize>, {{0}, {0}}}}},
      {"batch_norm_normalize_add", {{"own", Own<CudaBatchNormNormalize>, {{0, 5}, {0}}}}},
      {"batch_norm_inference", {{"own", Own<CudaBatchNormInference>, {{0}, {0}}}}},
      {"batch_norm_running", {{"own", Own<CudaBatchNormRunning>}}},
      {"batch_norm_gradient_sums", {{"own", Own<CudaBatchNormGradientSums>, {{0, 1}, {}}}}},
      {"batch_norm_gradient_sums_relu", {{"own", Own<CudaBatchNormGradientSums>, {{0, 1, 6}, {3}}}}},
      {"batch_norm_normalize_input_grad", {{"own", Own<CudaBatchNormNormalizeInputGrad>}}},
      {"batch_norm_statistics_grad", {{"own", Own<CudaBatchNormStatisticsGrad>}}},
      {"batch_norm_input_grad", {{"own", Own<CudaBatchNormInputGrad>, {{0, 1}, {0}}}}},
      {"layer_norm", {{"own", Own<CudaLayerNorm>}}},
      {"layer_norm_input_grad", {{"own", Own<CudaLayerNormInputGrad>}}},
      {"layer_norm_parameter_grad", {{"own", Own<CudaLayerNormParameterGrad>}}},
      {"lstm_steps", {{"own", LstmOfFewRows}, {"cublaslt", Lstm}, {"reference", Own<CudaLstm>}}},
      {"lstm_steps_grad", {{"own", LstmOfFewRows}, {"cublaslt", Lstm}, {"reference", Own<CudaLstm>}}},
      {"lstm_projected_steps_grad", {{"own", LstmOfFewRows}, {"cublaslt", Lstm}, {"reference", Own<CudaLstm>}}},
      {"attention_context", {{"own", Own<CudaAttentionContext>}}},
      {"attention_context_grad", {{"own", Own<CudaAttentionContextGrad>}}},
      {"scaled_dot_product_attention_forward", {{"own", Own<CudaDotProductForward>}}},
      {"scaled_dot_product_attention_grad", {{"own", Own<CudaDotProductGrad>}}},
      {"scaled_dot_product_attention_bias_grad", {{"own", Own<CudaDotProductBiasGrad>}}},
      {"softmax", {{"own", Own<CudaSoftmax>}}},
      {"softmax_grad", {{"own", Own<CudaSoftmaxGrad>}}},
      {"log_softmax", {{"own", Own<CudaLogSoftmax>}}},
      {"log_softmax_grad", {{"own", Own<CudaLogSoftmaxGrad>}}},
      {"softmax_cross_entropy", {{"own", Own<CudaSoftmaxCrossEntropy>}}},
      {"softmax_cross_entropy_grad", {{"own", Own<CudaSoftmaxCrossEntropyGrad>}}},
      {"count_labels", {{"own", Own<CudaCountLabels>}}},
      {"sum", {{"own", Own<CudaSum>}}},
      {"mean", {{"own", Own<CudaSum>}}},
      {"sum_grad", {{"own", Own<CudaExpand>}}},
      {"expand", {{"own", Own<CudaExpand>}}},
      {"expand_like", {{"own", Own<CudaExpand>}}},
      {"mean_squared_error", {{"own", Own<CudaMeanSquaredError>}}},
      {"mean_squared_error_grad", {{"own", Own<CudaMeanSquaredErrorGrad>}}},
      {"row_maximum", {{"own", Own<CudaRowMaximum>}}},
      {"row_exponentials", {{"own", Own<CudaRowExponentials>}}},
      {"row_exponentials_grad", {{"own", Own<CudaRowExponentialsGrad>}}},
      {"softmax_normalize", {{"own", Own<CudaSoftmaxNormalize>}}},
      {"softmax_normalize_grad", {{"own", Own<CudaSoftmaxNormalizeGrad>}}},
      {"log_softmax_normalize", {{"own", Own<CudaLogSoftmaxNormalize>}}},
      {"log_softmax_normalize_grad", {{"own", Own<CudaLogSoftmaxNormalizeGrad>}}},
      {"cross_entropy", {{"own", Own<CudaCrossEntropy>}}},
      {"cross_entropy_logits_grad", {{"own", Own<CudaCrossEntropyLogitsGrad>}}},
      {"cross_entropy_sum_grad", {{"own", Own<CudaCrossEntropySumGrad>}}},
      {"accuracy", {{"own", Own<CudaAccuracy>}}},
      {"embedding", {{"own", Own<CudaEmbedding>}}},
      {"embedding_grad", {{"own", Own<CudaEmbeddingGrad>}}},
      {"log_uniform_ids", {{"own", Own<CudaLogUniformIds>}}},
      {"sampled_cross_entropy", {{"own", Own<CudaSampledCrossEntropy>}}},
      {"sampled_cross_entropy_grad", {{"own", Own<CudaSampledCrossEntropyGrad>}}},
      {"merge_rows", {{"own", Own<CudaMergeRows>}}},
      {"learning_rate", {{"own", Own<CudaLearningRate>}}},
      {"increment", {{"own", Own<CudaIncrement>}}},
      {"all_finite", {{"own", Own<CudaAllFinite>}}},
      {"sum_of_squares", {{"own", Own<CudaSumOfSquares>}}},
      {"clip_scale", {{"own", Own<CudaClipScale>}}},
  }));
  return table;
}

}  // namespace

const std::vector<CudaKernelEntry>& CudaKernelEntries(const std::string& op) {
  static const std::vector<CudaKernelEntry>& none = *new std::vector<CudaKernelEntry>();
  const auto found = Table().find(op);
  return found == Table().end() ? none : found->second;
}

std::vector<std::string> CudaKernelOps() {
  std::vector<std::string> ops;
  for (const auto& [op, entries] : Table()) ops.push_back(op);
  return ops;
}

}  // namespace partita
