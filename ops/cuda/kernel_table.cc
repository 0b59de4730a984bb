#include "ops/cuda/kernel_table.h"

#include <map>

#include "ops/cuda/own_kernels.h"

namespace partita {
namespace {

using KernelTable = std::map<std::string, std::vector<CudaKernelEntry>>;

const KernelTable& Table() {
  static const KernelTable& table = *new KernelTable{
      {"constant", {{"own", CudaConstant}}},
      {"cast", {{"own", CudaCast}}},
      {"reshape", {{"own", CudaReshape}}},
      {"conv2d", {{"reference", CudaConv2d}}},
      {"conv2d_input_grad", {{"reference", CudaConv2dInputGrad}}},
      {"conv2d_weight_grad", {{"reference", CudaConv2dWeightGrad}}},
      {"matmul", {{"reference", CudaMatMul}}},
      {"bias", {{"own", CudaBias}}},
      {"bias_grad", {{"own", CudaBiasGrad}}},
      {"relu", {{"own", CudaRelu}}},
      {"relu_grad", {{"own", CudaReluGrad}}},
      {"add", {{"own", CudaAdd}}},
      {"mul", {{"own", CudaMul}}},
      {"dropout", {{"own", CudaDropout}}},
      {"concat", {{"own", CudaConcat}}},
      {"slice", {{"own", CudaSlice}}},
      {"slice_grad", {{"own", CudaSliceGrad}}},
      {"max_pool", {{"own", CudaMaxPool}}},
      {"max_pool_grad", {{"own", CudaMaxPoolGrad}}},
      {"average_pool", {{"own", CudaAveragePool}}},
      {"average_pool_grad", {{"own", CudaAveragePoolGrad}}},
      {"global_average_pool", {{"own", CudaGlobalAveragePool}}},
      {"global_average_pool_grad", {{"own", CudaGlobalAveragePoolGrad}}},
      {"halo_exchange_adjoint", {{"own", CudaHaloExchangeAdjoint}}},
      {"batch_norm_statistics", {{"own", CudaBatchNormStatistics}}},
      {"batch_norm_normalize", {{"own", CudaBatchNormNormalize}}},
      {"batch_norm_inference", {{"own", CudaBatchNormInference}}},
      {"batch_norm_running", {{"own", CudaBatchNormRunning}}},
      {"batch_norm_gradient_sums", {{"own", CudaBatchNormGradientSums}}},
      {"batch_norm_normalize_input_grad", {{"own", CudaBatchNormNormalizeInputGrad}}},
      {"batch_norm_statistics_grad", {{"own", CudaBatchNormStatisticsGrad}}},
      {"batch_norm_input_grad", {{"own", CudaBatchNormInputGrad}}},
      {"log_softmax", {{"own", CudaLogSoftmax}}},
      {"log_softmax_grad", {{"own", CudaLogSoftmaxGrad}}},
      {"softmax_cross_entropy", {{"own", CudaSoftmaxCrossEntropy}}},
      {"softmax_cross_entropy_grad", {{"own", CudaSoftmaxCrossEntropyGrad}}},
      {"accuracy", {{"own", CudaAccuracy}}},
      {"learning_rate", {{"own", CudaLearningRate}}},
      {"increment", {{"own", CudaIncrement}}},
      {"sum_of_squares", {{"own", CudaSumOfSquares}}},
      {"clip_scale", {{"own", CudaClipScale}}},
      {"sgd", {{"own", CudaSgd}}},
      {"sgd_momentum", {{"own", CudaSgdMomentum}}},
  };
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
