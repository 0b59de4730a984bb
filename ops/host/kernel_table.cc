#include "ops/host/kernel_table.h"

#include <map>

#include "ops/functors/elementwise.h"
#include "ops/functors/updates.h"
#include "ops/host/fast/fast_kernels.h"
#include "ops/host/host_kernels.h"
#include "ops/host/onednn/onednn_kernels.h"
#include "ops/host/reference/reference_kernels.h"

// Kernels that builds without OpenMP and oneDNN (the thread sanitizer's) leave out.
#ifdef PARTITA_NO_OPENMP
#define FAST(...)
#else
#define FAST(...) {__VA_ARGS__},
#endif

namespace partita {
namespace {

using enum Bf16Nodes;
using KernelTable = std::map<std::string, std::vector<HostKernelEntry>>;

// The same with the ops of the lists in ops/functors/elementwise.h and ops/functors/updates.h.
KernelTable WithLists(KernelTable table) {
  for (const std::string& op : NamesOf(UnaryOps())) {
    table[op] = {FAST("fast", FastUnary){"reference", ReferenceUnary}};
  }
  for (const std::string& op : NamesOf(BinaryOps())) {
    table[op] = {FAST("fast", FastBinary){"reference", ReferenceBinary}};
  }
  for (const std::string& op : UpdateNames()) table[op] = {FAST("fast", FastUpdate){"reference", ReferenceUpdate}};
  return table;
}

const KernelTable& Table() {
  static const KernelTable& table = *new KernelTable(WithLists({
      {"constant", {{"reference", ReferenceConstant, kTaken}}},
      {"cast", {FAST("fast", FastCast, kTaken){"reference", ReferenceCast, kTaken}}},
      {"reshape", {{"reference", ReferenceReshape, kTaken}}},
      {"conv2d", {FAST("onednn", OneDnnConv2d, kTaken) FAST("im2col", Im2ColConv2d){"reference", ReferenceConv2d}}},
      {"conv2d_epilogue",
       {FAST("onednn", OneDnnConv2d, kTaken) FAST("im2col", Im2ColConv2d){"reference", ReferenceConv2d}}},
      {"conv2d_input_grad",
       {FAST("onednn", OneDnnConv2dInputGrad, kTaken)
            FAST("im2col", Im2ColConv2dInputGrad){"reference", ReferenceConv2dInputGrad}}},
      {"conv2d_weight_grad",
       {FAST("onednn", OneDnnConv2dWeightGrad, kTaken)
            FAST("im2col", Im2ColConv2dWeightGrad){"reference", ReferenceConv2dWeightGrad}}},
      {"matmul", {FAST("onednn", OneDnnMatMul, kTaken) FAST("blocked", BlockedMatMul){"reference", ReferenceMatMul}}},
      {"matmul_epilogue",
       {FAST("onednn", OneDnnMatMul, kTaken) FAST("blocked", BlockedMatMul){"reference", ReferenceMatMul}}},
      {"bias", {FAST("fast", FastBias){"reference", ReferenceBias}}},
      {"bias_grad", {FAST("fast", FastBiasGrad){"reference", ReferenceBiasGrad}}},
      {"add", {FAST("fast", FastAdd){"reference", ReferenceAdd}}},
      {"dropout", {FAST("fast", FastDropout){"reference", ReferenceDropout}}},
      {"concat", {FAST("fast", FastConcat, kTaken){"reference", ReferenceConcat, kTaken}}},
      {"slice", {FAST("fast", FastSlice, kTaken){"reference", ReferenceSlice, kTaken}}},
      {"slice_grad", {FAST("fast", FastSliceGrad, kTaken){"reference", ReferenceSliceGrad, kTaken}}},
      {"max_pool", {FAST("fast", FastMaxPool){"reference", ReferenceMaxPool}}},
      {"max_pool_grad", {FAST("fast", FastMaxPoolGrad){"reference", ReferenceMaxPoolGrad}}},
      {"average_pool", {FAST("fast", FastAveragePool){"reference", ReferenceAveragePool}}},
      {"average_pool_grad", {FAST("fast", FastAveragePoolGrad){"reference", ReferenceAveragePoolGrad}}},
      {"global_average_pool", {FAST("fast", FastGlobalAveragePool){"reference", ReferenceGlobalAveragePool}}},
      {"global_average_pool_grad",
       {FAST("fast", FastGlobalAveragePoolGrad){"reference", ReferenceGlobalAveragePoolGrad}}},
      {"halo_exchange_adjoint", {{"reference", ReferenceHaloExchangeAdjoint}}},
      {"batch_norm_statistics", {FAST("fast", FastBatchNormStatistics){"reference", ReferenceBatchNormStatistics}}},
      {"batch_norm_normalize", {FAST("fast", FastBatchNormNormalize){"reference", ReferenceBatchNormNormalize}}},
      {"batch_norm_inference", {FAST("fast", FastBatchNormInference){"reference", ReferenceBatchNormInference}}},
      {"batch_norm_running", {{"reference", ReferenceBatchNormRunning}}},
      {"batch_norm_gradient_sums",
       {FAST("fast", FastBatchNormGradientSums){"reference", ReferenceBatchNormGradientSums}}},
      {"batch_norm_normalize_input_grad",
       {FAST("fast", FastBatchNormNormalizeInputGrad){"reference", ReferenceBatchNormNormalizeInputGrad}}},
      {"batch_norm_statistics_grad",
       {FAST("fast", FastBatchNormStatisticsGrad){"reference", ReferenceBatchNormStatisticsGrad}}},
      {"batch_norm_input_grad", {FAST("fast", FastBatchNormInputGrad){"reference", ReferenceBatchNormInputGrad}}},
      {"log_softmax", {FAST("fast", FastLogSoftmax){"reference", ReferenceLogSoftmax}}},
      {"log_softmax_grad", {FAST("fast", FastLogSoftmaxGrad){"reference", ReferenceLogSoftmaxGrad}}},
      {"softmax_cross_entropy", {FAST("fast", FastSoftmaxCrossEntropy){"reference", ReferenceSoftmaxCrossEntropy}}},
      {"softmax_cross_entropy_grad",
       {FAST("fast", FastSoftmaxCrossEntropyGrad){"reference", ReferenceSoftmaxCrossEntropyGrad}}},
      {"row_maximum", {{"reference", ReferenceRowMaximum}}},
      {"row_exponentials", {{"reference", ReferenceRowExponentials}}},
      {"row_exponentials_grad", {{"reference", ReferenceRowExponentialsGrad}}},
      {"log_softmax_normalize", {{"reference", ReferenceLogSoftmaxNormalize}}},
      {"log_softmax_normalize_grad", {{"reference", ReferenceLogSoftmaxNormalizeGrad}}},
      {"cross_entropy", {{"reference", ReferenceCrossEntropy}}},
      {"cross_entropy_logits_grad", {{"reference", ReferenceCrossEntropyLogitsGrad}}},
      {"cross_entropy_sum_grad", {{"reference", ReferenceCrossEntropySumGrad}}},
      {"accuracy", {{"reference", ReferenceAccuracy}}},
      {"learning_rate", {{"reference", ReferenceLearningRate}}},
      {"increment", {{"reference", ReferenceIncrement}}},
      {"all_finite", {{"reference", ReferenceAllFinite}}},
      {"sum_of_squares", {FAST("fast", FastSumOfSquares){"reference", ReferenceSumOfSquares}}},
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
