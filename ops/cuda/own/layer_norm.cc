// Layer normalization of a node, forward and gradients.
#include "ops/cuda/launch/layer_norm.h"

#include "ops/cuda/own/own_kernels.h"

namespace partita {

// (x, gamma, beta) -> y
absl::StatusOr<PreparedCudaKernel> CudaLayerNorm(const LocalNode& node) {
  const ChannelRows rows = MakeRows(InputShape(node, 0));
  const double epsilon = node.attributes.Float("epsilon");
  return OwnFloatingKernel(node, [=](const KernelArguments& a, DType dtype, CudaQueue q) {
    return launch::LayerNorm(dtype, rows, epsilon, In(a, 0), In(a, 1), In(a, 2), Out(a, 0), q);
  });
}

// (x, dy, gamma) -> dx, stats
absl::StatusOr<PreparedCudaKernel> CudaLayerNormInputGrad(const LocalNode& node) {
  const ChannelRows rows = MakeRows(InputShape(node, 0));
  const double epsilon = node.attributes.Float("epsilon");
  return OwnFloatingKernel(node, [=](const KernelArguments& a, DType dtype, CudaQueue q) {
    return launch::LayerNormInputGrad(dtype, rows, epsilon, In(a, 0), In(a, 1), In(a, 2), Out(a, 0),
                                      static_cast<RowStatistics*>(Out(a, 1)), q);
  });
}

// (x, dy, stats) -> dgamma, dbeta
absl::StatusOr<PreparedCudaKernel> CudaLayerNormParameterGrad(const LocalNode& node) {
  const ChannelRows rows = MakeRows(InputShape(node, 0));
  const ColumnChunks chunks = MakeColumnChunks(1, rows.rows, rows.channels);
  RETURN_IF_ERROR(RequireFloating(Input(node, 0).dtype));
  return OwnSummingKernel(
      [chunks, dtype = Input(node, 0).dtype](const KernelArguments& a, const SumScratch& scratch, CudaQueue q) {
        return launch::LayerNormParameterGrad(dtype, chunks, In(a, 0), In(a, 1), In<RowStatistics>(a, 2), Out(a, 0),
                                              Out(a, 1), scratch, q);
      },
      chunks.partial_bytes(2), chunks.counters(false));
}

}  // namespace partita
