// Batch normalization of a node, forward and gradients.
#include "ops/cuda/launch/batch_norm.h"

#include "ops/cuda/own/own_kernels.h"
#include "ops/functors/batch_norm.h"
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

bool IsSmall(const BatchNormLaunch& norm, const LocalNode& node) {
  return IsSmallBatchNorm(norm.groups.rows(), SizeOf(Input(node, 0).dtype));
}

// (x, dy, stats, shift, gamma, beta, y) -> (three outputs, masked), or without y and masked
BatchNormLaunch GradientOf(const LocalNode& node) {
  BatchNormLaunch result = NormalizationOf(node);
  if (node.outputs.size() < 4) return result;
  result.y_pitch = PitchOf(node, 6);
  result.masked_pitch = PitchOf(node, node.inputs.size() + 3);
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
  if (a.outputs.size() < 4) return norm;
  norm.y = In(a, 6);
  norm.masked = Out(a, 3);
  return norm;
}

}  // namespace

// (x, shift, gamma, beta, residual or nothing) -> y, stats: one launch where the batch norm is small, else that of the
// sums and that of y.
absl::StatusOr<PreparedCudaKernel> CudaBatchNormForward(const LocalNode& node) {
  BatchNormLaunch norm = NormalizationOf(node);
  norm.dy_pitch = 0;  // there is none
  const bool adds = node.inputs.size() > 4;
  if (adds) norm.residual_pitch = PitchOf(node, 4);
  const auto bound = [norm, adds](const KernelArguments& a) {
    BatchNormLaunch result = norm;
    result.x = In(a, 0);
    result.shift = In(a, 1);
    result.gamma = In(a, 2);
    result.beta = In(a, 3);
    if (adds) result.residual = In(a, 4);
    result.stats = static_cast<const double*>(Out(a, 1));
    return result;
  };
  if (IsSmall(norm, node)) {
    return OwnFloatingKernel(node, [bound](const KernelArguments& a, DType dtype, CudaQueue q) {
      return launch::SmallBatchNorm(dtype, bound(a), static_cast<double*>(Out(a, 1)), Out(a, 0), q);
    });
  }
  RETURN_IF_ERROR(RequireFloating(node.outputs[0].dtype));
  const ColumnChunks chunks = launch::ChunksOf(norm.groups);
  return OwnSummingKernel(
      [bound, dtype = node.outputs[0].dtype](const KernelArguments& a, const SumScratch& scratch, CudaQueue q) {
        const LaunchError error =
            launch::BatchNormStatistics(dtype, bound(a), static_cast<double*>(Out(a, 1)), scratch, q);
        return error != kLaunched ? error : launch::BatchNormNormalize(dtype, bound(a), Out(a, 0), q);
      },
      chunks.partial_bytes(2), chunks.counters(false));
}

// (x, dy, stats, shift, gamma, beta) -> dx, dgamma, dbeta, likewise; with y also -> masked.
absl::StatusOr<PreparedCudaKernel> CudaBatchNormBackward(const LocalNode& node) {
  const BatchNormLaunch norm = GradientOf(node);
  if (IsSmall(norm, node)) {
    return OwnFloatingKernel(node, [norm](const KernelArguments& a, DType dtype, CudaQueue q) {
      return launch::SmallBatchNormGrad(dtype, GradientBound(norm, a), Out(a, 0), Out(a, 1), Out(a, 2), q);
    });
  }
  RETURN_IF_ERROR(RequireFloating(node.outputs[0].dtype));
  const ColumnChunks chunks = launch::ChunksOf(norm.groups);
  const int64_t sums_bytes = chunks.partial_bytes(2) + chunks.totals_bytes(2);
  return OwnSummingKernel(
      [=, dtype = node.outputs[0].dtype](const KernelArguments& a, const SumScratch& scratch, CudaQueue q) {
        BatchNormLaunch bound = GradientBound(norm, a);
        auto* const dstats = reinterpret_cast<double*>(static_cast<char*>(scratch.workspace) + sums_bytes);
        const LaunchError error = launch::BatchNormGradientSums(dtype, bound, dstats, Out(a, 1), Out(a, 2), scratch, q);
        if (error != kLaunched) return error;
        bound.dstats = dstats;
        if (bound.masked != nullptr) {
          bound.dy = bound.masked;
          bound.dy_pitch = bound.masked_pitch;
        }
        return launch::BatchNormInputGrad(dtype, bound, Out(a, 0), q);
      },
      sums_bytes + chunks.totals_bytes(2), chunks.counters(true));
}

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

// (x, stats, shift, gamma, beta, residual or nothing) -> y
absl::StatusOr<PreparedCudaKernel> CudaBatchNormNormalize(const LocalNode& node) {
  BatchNormLaunch norm = NormalizationOf(node);
  const bool adds = node.inputs.size() > 5;
  if (adds) norm.residual_pitch = PitchOf(node, 5);
  return OwnFloatingKernel(node, [norm, adds](const KernelArguments& a, DType dtype, CudaQueue q) {
    BatchNormLaunch bound = norm;
    bound.x = In(a, 0);
    bound.stats = In<double>(a, 1);
    bound.shift = In(a, 2);
    bound.gamma = In(a, 3);
    bound.beta = In(a, 4);
    if (adds) bound.residual = In(a, 5);
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

// -> dstats, dgamma, dbeta; with y also -> masked
absl::StatusOr<PreparedCudaKernel> CudaBatchNormGradientSums(const LocalNode& node) {
  const BatchNormLaunch norm = GradientOf(node);
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
