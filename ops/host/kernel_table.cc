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

// The same with the fast kernels of the lists in ops/functors/elementwise.h and ops/functors/updates/updates.h, with
// the reference kernel of every op behind the others, and without entries for other machines and kernels that the build
// leaves out.
KernelTable WithLists(KernelTable table) {
  const auto reference = [&table](const std::string& op, HostKernelFactory prepare, Bf16Nodes bf16 = kWidened) {
    table[op].push_back({"reference", prepare, bf16});
  };
#define KERNEL(op, function, ...) reference(op, function __VA_OPT__(, ) __VA_ARGS__);
#include "ops/host/reference/reference_kernels.inc"
#undef KERNEL
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
      {"cast", {{"fast", FAST(FastCast), kTaken}}},
      {"pixels", {{"fast", FAST(FastPixels)}}},
      {"conv2d",
       {{"winograd", FAST(WinogradConv2d), kRefused},
        {"grouped", FAST(GroupedConv2d), kTaken},
        {"onednn", FAST(OneDnnConv2d), kTaken},
        {"im2col", FAST(Im2ColConv2d)}}},
      {"conv2d_epilogue",
       {{"winograd", FAST(WinogradConv2d), kRefused},
        {"grouped", FAST(GroupedConv2d), kTaken},
        {"onednn", FAST(OneDnnConv2d), kTaken},
        {"im2col", FAST(Im2ColConv2d)}}},
      {"conv2d_input_grad",
       {{"winograd", FAST(WinogradConv2dInputGrad), kRefused},
        {"grouped", FAST(GroupedConv2dInputGrad), kTaken},
        {"onednn", FAST(OneDnnConv2dInputGrad), kTaken},
        {"im2col", FAST(Im2ColConv2dInputGrad)}}},
      {"conv2d_input_grad_sum",
       {{"onednn", FAST(OneDnnConv2dInputGradSum), kTaken}, {"im2col", FAST(Im2ColConv2dInputGrad)}}},
      {"conv2d_weight_grad",
       {{"winograd", FAST(WinogradConv2dWeightGrad), kRefused},
        {"grouped", FAST(GroupedConv2dWeightGrad), kTaken},
        {"fast", FAST(FastConv2dWeightGrad), kWidened, {}, LacksWideVectors},
        {"onednn", FAST(OneDnnConv2dWeightGrad), kTaken},
        {"fast", FAST(FastConv2dWeightGrad), kWidened, {}, HasWideVectors},  // there oneDNN's is faster
        {"im2col", FAST(Im2ColConv2dWeightGrad)}}},
      {"matmul",
       {{"packed", FAST(PackedMatMul), kRefused, {}, HasWideVectors},  // there ours is faster
        {"onednn", FAST(OneDnnMatMul), kTaken},
        {"packed", FAST(PackedMatMul), kRefused, {}, LacksWideVectors},
        {"blocked", FAST(BlockedMatMul)}}},
      {"matmul_epilogue",
       {{"packed", FAST(PackedMatMul), kRefused, {}, HasWideVectors},  // there ours is faster
        {"onednn", FAST(OneDnnMatMul), kTaken},
        {"packed", FAST(PackedMatMul), kRefused, {}, LacksWideVectors},
        {"blocked", FAST(BlockedMatMul)}}},
      {"batch_matmul", {{"onednn", FAST(OneDnnBatchMatMul), kTaken}, {"blocked", FAST(BlockedBatchMatMul)}}},
      {"scale", {{"fast", FAST(FastScale)}}},
      {"bias", {{"fast", FAST(FastBias)}}},
      {"bias_grad", {{"fast", FAST(FastBiasGrad)}}},
      {"add", {{"fast", FAST(FastAdd)}}},
      {"dropout", {{"fast", FAST(FastDropout)}}},
      {"concat", {{"fast", FAST(FastConcat), kTaken}}},
      {"slice", {{"fast", FAST(FastSlice), kTaken}}},
      {"slice_grad", {{"fast", FAST(FastSliceGrad), kTaken}}},
      {"transpose", {{"fast", FAST(FastTranspose), kTaken}}},
      {"max_pool", {{"fast", FAST(FastMaxPool), kWidened, {{0}, {0}}}}},
      {"max_pool_grad", {{"fast", FAST(FastMaxPoolGrad), kWidened, {{0, 1, 2}, {0}}}}},
      {"average_pool", {{"fast", FAST(FastAveragePool), kWidened, {{0}, {0}}}}},
      {"average_pool_grad", {{"fast", FAST(FastAveragePoolGrad), kWidened, {{0}, {0}}}}},
      {"global_average_pool", {{"fast", FAST(FastGlobalAveragePool)}}},
      {"global_average_pool_grad", {{"fast", FAST(FastGlobalAveragePoolGrad)}}},
      {"batch_norm_statistics", {{"fast", FAST(FastBatchNormStatistics), kWidened, {{0}, {}}}}},
      {"batch_norm_normalize", {{"fast", FAST(FastBatchNormNormalize), kWidened, {{0}, {0}}}}},
      {"batch_norm_inference", {{"fast", FAST(FastBatchNormInference), kWidened, {{0}, {0}}}}},
      {"batch_norm_gradient_sums", {{"fast", FAST(FastBatchNormGradientSums), kWidened, {{0, 1}, {}}}}},
      {"batch_norm_normalize_input_grad", {{"fast", FAST(FastBatchNormNormalizeInputGrad), kWidened, {{0, 1}, {0}}}}},
      {"batch_norm_statistics_grad", {{"fast", FAST(FastBatchNormStatisticsGrad), kWidened, {{0}, {0}}}}},
      {"batch_norm_input_grad", {{"fast", FAST(FastBatchNormInputGrad), kWidened, {{0, 1}, {0}}}}},
      {"layer_norm", {{"fast", FAST(FastLayerNorm)}}},
      {"layer_norm_input_grad", {{"fast", FAST(FastLayerNormInputGrad)}}},
      {"layer_norm_parameter_grad", {{"fast", FAST(FastLayerNormParameterGrad)}}},
      {"lstm_steps", {{"fast", FAST(FastLstmSteps)}}},
      {"lstm_steps_grad", {{"fast", FAST(FastLstmStepsGrad)}}},
      {"lstm_projected_steps_grad", {{"fast", FAST(FastLstmStepsGrad)}}},
      {"attention_context", {{"fast", FAST(FastAttentionContext)}}},
      {"attention_context_grad", {{"fast", FAST(FastAttentionContextGrad)}}},
      {"scaled_dot_product_attention_forward", {{"fast", FAST(FastDotProductForward)}}},
      {"scaled_dot_product_attention_grad", {{"fast", FAST(FastDotProductGrad)}}},
      {"scaled_dot_product_attention_bias_grad", {{"fast", FAST(FastDotProductBiasGrad)}}},
      {"softmax", {{"fast", FAST(FastSoftmax)}}},
      {"softmax_grad", {{"fast", FAST(FastSoftmaxGrad)}}},
      {"log_softmax", {{"fast", FAST(FastLogSoftmax)}}},
      {"log_softmax_grad", {{"fast", FAST(FastLogSoftmaxGrad)}}},
      {"softmax_cross_entropy", {{"fast", FAST(FastSoftmaxCrossEntropy)}}},
      {"softmax_cross_entropy_grad", {{"fast", FAST(FastSoftmaxCrossEntropyGrad)}}},
      {"sum", {{"fast", FAST(FastSum)}}},
      {"mean", {{"fast", FAST(FastSum)}}},
      {"sum_grad", {{"fast", FAST(FastExpand)}}},
      {"expand", {{"fast", FAST(FastExpand)}}},
      {"expand_like", {{"fast", FAST(FastExpand)}}},
      {"mean_squared_error", {{"fast", FAST(FastMeanSquaredError)}}},
      {"mean_squared_error_grad", {{"fast", FAST(FastMeanSquaredErrorGrad)}}},
      {"row_maximum", {{"fast", FAST(FastRowMaximum)}}},
      {"row_exponentials", {{"fast", FAST(FastRowExponentials)}}},
      {"row_exponentials_grad", {{"fast", FAST(FastRowExponentialsGrad)}}},
      {"cross_entropy", {{"fast", FAST(FastCrossEntropy)}}},
      {"cross_entropy_logits_grad", {{"fast", FAST(FastCrossEntropyLogitsGrad)}}},
      {"embedding", {{"fast", FAST(FastEmbedding)}}},
      {"embedding_grad", {{"fast", FAST(FastEmbeddingGrad)}}},
      {"sampled_cross_entropy", {{"fast", FAST(FastSampledCrossEntropy)}}},
      {"sampled_cross_entropy_grad", {{"fast", FAST(FastSampledCrossEntropyGrad)}}},
      {"merge_rows", {{"fast", FAST(FastMergeRows)}}},
      {"sum_of_squares", {{"fast", FAST(FastSumOfSquares)}}},
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
