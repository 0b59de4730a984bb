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

// The same with an own kernel for every op, behind those of libraries.
KernelTable WithOwn(KernelTable table) {
  const auto add = [&table](const std::string& op, auto prepare, const ColumnOperands& columns = {}) {
    std::vector<CudaKernelEntry>& entries = table[op];
    entries.push_back({entries.empty() ? "own" : "reference", prepare, columns});
  };
#define KERNEL(op, function, ...) add(op, Own<function> __VA_OPT__(, ) __VA_ARGS__);
#include "ops/cuda/own/own_kernels.inc"
#undef KERNEL
  for (const std::string& op : NamesOf(UnaryOps())) add(op, Own<CudaUnary>);
  for (const std::string& op : NamesOf(BinaryOps())) add(op, Own<CudaBinary>);
  for (const std::string& op : UpdateNames()) add(op, Own<CudaUpdate>);
  for (const std::string& op : RowUpdateNames()) add(op, Own<CudaRowUpdate>);
  return table;
}

const KernelTable& Table() {
  static const KernelTable& table = *new KernelTable(WithOwn({
      {"conv2d", {{"cudnn", Convolution}}},
      {"conv2d_epilogue", {{"cudnn", Convolution}}},
      {"conv2d_input_grad", {{"cudnn", Convolution}}},
      {"conv2d_input_grad_sum", {{"cudnn", ConvolutionSum}}},
      {"conv2d_weight_grad", {{"cudnn", Convolution}}},
      {"matmul", {{"cublaslt", MatMul}}},
      {"batch_matmul", {{"cublaslt", MatMul}}},
      {"matmul_epilogue", {{"cublaslt", MatMul}}},
      {"matmul_bias_grad", {{"cublaslt", MatMul}}},
      {"matmul_relu_mask", {{"cublaslt", MatMul}}},
      {"matmul_relu_grad", {{"cublaslt", MatMul}}},
      {"lstm_steps", {{"own", LstmOfFewRows}, {"cublaslt", Lstm}}},
      {"lstm_steps_grad", {{"own", LstmOfFewRows}, {"cublaslt", Lstm}}},
      {"lstm_projected_steps_grad", {{"own", LstmOfFewRows}, {"cublaslt", Lstm}}},
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
