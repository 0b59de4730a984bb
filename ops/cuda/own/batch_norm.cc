// Batch normalization of a node, forward and gradients.
#include "ops/cuda/launch/batch_norm.h"

#include "ops/cuda/own/own_kernels.h"
#include "ops/values/columns.h"

namespace partita {
namespace {

using launch::BatchNormLaunch;

// (x, ...) or (x, dy, ...) -> (out, ...)
BatchNormLaunch RowsOf(const LocalNode& node, int64_t samples) {
  BatchNormLaunch result;
  result.groups = MakeSampleGroups(Input(node, 0), samples);
  result.x_pitch = PitchOf(node, 0);
  result.dy_pitch = PitchOf(node, 1);
  result.out_pitch = PitchOf(node, node.inputs.size());
  return result;
}

BatchNormLaunch GroupsOf(const LocalNode& node) { return RowsOf(node, node.attributes.Int("samples")); }

BatchNormLaunch NormalizationOf(const LocalNode& node) {
  BatchNormLaunch result = GroupsOf(node);
  result.epsilon = node.attributes.Float("epsilon");
  result.relu = node.attributes.Bool("relu");
  return result;
}

// (x, dy, stats, shift, gamma, beta, ...)
BatchNormLaunch GradientBound(BatchNormLaunch norm, const KernelArguments& a) {
  norm.x = In(a, 0);
  norm.dy = In(a, 1);
  norm.stats = In<double>(a, 2);
  norm.shift = In(a, 3);
  norm.gamma = In(a, 4);
  norm.beta = In(a, 5);
  return norm;
}

}  // namespace

// (x, shift) -> stats
absl::StatusOr<PreparedCudaKernel> CudaBatchNormStatistics(const LocalNode& node) {
  const BatchNormLaunch norm = GroupsOf(node);
  RETURN_IF_ERROR(RequireFloating(Input(node, 0).dtype));
  const ColumnChunks chunks = launch::ChunksOf(norm.groups);
  return OwnSummingKernel(
      [norm, dtype = Input(node, 0).dtype](const KernelArguments& a, const SumScratch& scratch, CudaQueue q) {
        BatchNormLaunch bound = norm;
        bound.x = In(a, 0);
        bound.shift = In(a, 1);
        return launch::BatchNormStatistics(dtype, bound, static_cast<double*>(Out(a, 0)), scratch, q);
      },
      chunks.partial_bytes(2), chunks.counters(false));
}

// (x, stats, shift, gamma, beta) -> y
absl::StatusOr<PreparedCudaKernel> CudaBatchNormNormalize(const LocalNode& node) {
  const BatchNormLaunch norm = NormalizationOf(node);
  return OwnFloatingKernel(node, [norm](const KernelArguments& a, DType dtype, CudaQueue q) {
    BatchNormLaunch bound = norm;
    bound.x = In(a, 0);
    bound.stats = In<double>(a, 1);
    bound.shift = In(a, 2);
    bound.gamma = In(a, 3);
    bound.beta = In(a, 4);
    return launch::BatchNormNormalize(dtype, bound, Out(a, 0), q);
  });
}

// (x, gamma, beta, running_mean, running_variance) -> y
absl::StatusOr<PreparedCudaKernel> CudaBatchNormInference(const LocalNode& node) {
  BatchNormLaunch norm = RowsOf(node, 0);
  norm.epsilon = node.attributes.Float("epsilon");
  norm.relu = node.attributes.Bool("relu");
  return OwnFloatingKernel(node, [norm](const KernelArguments& a, DType dtype, CudaQueue q) {
    BatchNormLaunch bound = norm;
    bound.x = In(a, 0);
    bound.gamma = In(a, 1);
    bound.beta = In(a, 2);
    return launch::BatchNormInference(dtype, bound, In(a, 3), In(a, 4), Out(a, 0), q);
  });
}

// -> dstats, dgamma, dbeta
absl::StatusOr<PreparedCudaKernel> CudaBatchNormGradientSums(const LocalNode& node) {
  const BatchNormLaunch norm = NormalizationOf(node);
  RETURN_IF_ERROR(RequireFloating(Input(node, 0).dtype));
  const ColumnChunks chunks = launch::ChunksOf(norm.groups);
  return OwnSummingKernel(
      [norm, dtype = Input(node, 0).dtype](const KernelArguments& a, const SumScratch& scratch, CudaQueue q) {
        return launch::BatchNormGradientSums(dtype, GradientBound(norm, a), static_cast<double*>(Out(a, 0)), Out(a, 1),
                                             Out(a, 2), scratch, q);
      },
      chunks.partial_bytes(2) + chunks.totals_bytes(2), chunks.counters(true));
}

absl::StatusOr<PreparedCudaKernel> CudaBatchNormNormalizeInputGrad(const LocalNode& node) {
  const BatchNormLaunch norm = NormalizationOf(node);
  return OwnFloatingKernel(node, [norm](const KernelArguments& a, DType dtype, CudaQueue q) {
    return launch::BatchNormNormalizeInputGrad(dtype, GradientBound(norm, a), Out(a, 0), q);
  });
}

// (x, shift, dstats) -> dx
absl::StatusOr<PreparedCudaKernel> CudaBatchNormStatisticsGrad(const LocalNode& node) {
  return OwnFloatingKernel(node, [norm = GroupsOf(node)](const KernelArguments& a, DType dtype, CudaQueue q) {
    BatchNormLaunch bound = norm;
    bound.x = In(a, 0);
    bound.shift = In(a, 1);
    bound.dstats = In<double>(a, 2);
    return launch::BatchNormStatisticsGrad(dtype, bound, Out(a, 0), q);
  });
}

// (x, dy, stats, shift, gamma, beta, dstats) -> dx, the sum of the two before
absl::StatusOr<PreparedCudaKernel> CudaBatchNormInputGrad(const LocalNode& node) {
  const BatchNormLaunch norm = NormalizationOf(node);
  return OwnFloatingKernel(node, [norm](const KernelArguments& a, DType dtype, CudaQueue q) {
    BatchNormLaunch bound = GradientBound(norm, a);
    bound.dstats = In<double>(a, 6);
    return launch::BatchNormInputGrad(dtype, bound, Out(a, 0), q);
  });
}

}  // namespace partita
