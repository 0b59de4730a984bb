// Sums over dimensions of a node, what is the same along dimensions, the mean squared error, and sums of squares.
#include <vector>

#include "ops/cuda/kernel/cuda_kernel.h"
#include "ops/cuda/launch/reductions.h"
#include "ops/cuda/own/own_kernels.h"
#include "ops/values/sum_geometry.h"

namespace partita {
namespace {

launch::SquaredErrors ErrorsOf(const ErrorRows& rows, const KernelArguments& a) {
  return {In(a, 0), In(a, 1), In(a, 2), rows.samples, rows.numbers, rows.divisor};
}

}  // namespace

// Long sums over one run of dimensions are shared by blocks.
absl::StatusOr<PreparedCudaKernel> CudaSum(const LocalNode& node) {
  const DType from = Input(node, 0).dtype, to = node.outputs[0].dtype;
  RETURN_IF_ERROR(RequireFloating(from));
  RETURN_IF_ERROR(RequireFloating(to));
  const SummedRuns runs = SummedRunsOf(node);
  const double divisor = DivisorOfSum(node);
  const std::optional<SampleGroups> columns = ColumnsOf(runs);
  if (!columns || runs.terms <= kFewClasses) {
    return OwnKernel([=](const KernelArguments& a, CudaQueue q) {
      return launch::SumOverRuns(from, runs, In(a, 0), divisor, Out(a, 0), q);
    });
  }
  const ColumnChunks chunks = MakeColumnChunks(columns->groups, columns->rows_per_group, columns->channels);
  return OwnSummingKernel(
      [=](const KernelArguments& a, const SumScratch& scratch, CudaQueue q) {
        return launch::SumOverRows(from, to, chunks, In(a, 0), divisor, Out(a, 0), scratch, q);
      },
      chunks.partial_bytes(1), chunks.counters(false));
}

// Of all inputs, each of them f32 or f64, like the sum, or bf16.
absl::StatusOr<PreparedCudaKernel> CudaSumOfSquares(const LocalNode& node) {
  const DType dtype = node.outputs[0].dtype;
  if (dtype != DType::kF32 && dtype != DType::kF64) {
    return InvalidArgument("dtype is {}, allowed are f32 and f64", Name(dtype));
  }
  std::vector<launch::SquaredTensor> tensors;
  int64_t workspace_bytes = 0;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const FlatChunks chunks = MakeFlatChunks(Input(node, i).elements());
    tensors.push_back({nullptr, chunks.elements, chunks.chunk_elements, Input(node, i).dtype == DType::kBF16});
    workspace_bytes += chunks.partial_bytes() + static_cast<int64_t>(sizeof(double));
  }
  const auto launch = [=](const KernelArguments& a, const SumScratch& scratch, CudaQueue q) {
    std::vector<launch::SquaredTensor> bound = tensors;
    for (size_t i = 0; i < bound.size(); ++i) bound[i].x = In(a, i);
    return launch::SumOfSquares(dtype, bound.data(), static_cast<int>(bound.size()), Out(a, 0), scratch, q);
  };
  return OwnSummingKernel(launch, workspace_bytes, static_cast<int64_t>(tensors.size()) + 1);
}

// From the last input: the one before it only says how the result shall lie.
absl::StatusOr<PreparedCudaKernel> CudaExpand(const LocalNode& node) {
  const size_t input = node.inputs.size() - 1;
  const DType from = Input(node, input).dtype, to = node.outputs[0].dtype;
  RETURN_IF_ERROR(RequireFloating(to));
  if (from != to && from != AccumulatorOf(to)) {
    return InvalidArgument("found {} for {}, allowed is it itself or its accumulator", Name(from), Name(to));
  }
  return OwnKernel(
      [=, runs = ExpandedRunsOf(node), divisor = DivisorOfExpansion(node)](const KernelArguments& a, CudaQueue q) {
        return launch::ExpandRuns(from, to, runs, In(a, input), divisor, Out(a, 0), q);
      });
}

absl::StatusOr<PreparedCudaKernel> CudaMeanSquaredError(const LocalNode& node) {
  RETURN_IF_ERROR(RequireWide(node));
  const ErrorRows rows = ErrorRowsOf(node);
  const ColumnChunks chunks = MakeColumnChunks(1, rows.elements(), 1);
  return OwnSummingKernel(
      [=, dtype = node.outputs[0].dtype](const KernelArguments& a, const SumScratch& scratch, CudaQueue q) {
        return launch::MeanSquaredError(dtype, ErrorsOf(rows, a), chunks, Out(a, 0), scratch, q);
      },
      chunks.partial_bytes(1), chunks.counters(false));
}

absl::StatusOr<PreparedCudaKernel> CudaMeanSquaredErrorGrad(const LocalNode& node) {
  return OwnWideKernel(node, [rows = ErrorRowsOf(node)](const KernelArguments& a, DType dtype, CudaQueue q) {
    return launch::MeanSquaredErrorGrad(dtype, ErrorsOf(rows, a), In(a, 3), Out(a, 0), q);
  });
}

}  // namespace partita
