// Softmax in pieces, and its loss, of a node.
#include "ops/cuda/launch/split_softmax.h"

#include "ops/cuda/kernel/labelled_kernel.h"
#include "ops/cuda/own/own_kernels.h"

namespace partita {
namespace {

struct BlockRows {
  explicit BlockRows(const LocalNode& node)
      : n(MakeRows(InputShape(node, 0)).rows), classes(InputShape(node, 0).back()) {}
  int64_t n, classes;
};

}  // namespace

absl::StatusOr<PreparedCudaKernel> CudaRowMaximum(const LocalNode& node) {
  return OwnWideKernel(node, [rows = BlockRows(node)](const KernelArguments& a, DType dtype, CudaQueue q) {
    return launch::RowMaximum(dtype, rows.n, rows.classes, In(a, 0), Out(a, 0), q);
  });
}

absl::StatusOr<PreparedCudaKernel> CudaRowExponentials(const LocalNode& node) {
  return OwnWideKernel(node, [rows = BlockRows(node)](const KernelArguments& a, DType dtype, CudaQueue q) {
    return launch::RowExponentials(dtype, rows.n, rows.classes, In(a, 0), In(a, 1), Out(a, 0), q);
  });
}

absl::StatusOr<PreparedCudaKernel> CudaRowExponentialsGrad(const LocalNode& node) {
  return OwnWideKernel(node, [rows = BlockRows(node)](const KernelArguments& a, DType dtype, CudaQueue q) {
    return launch::RowExponentialsGrad(dtype, rows.n, rows.classes, In(a, 0), In(a, 1), In(a, 2), Out(a, 0), q);
  });
}

absl::StatusOr<PreparedCudaKernel> CudaSoftmaxNormalize(const LocalNode& node) {
  return OwnWideKernel(node, [rows = BlockRows(node)](const KernelArguments& a, DType dtype, CudaQueue q) {
    return launch::SoftmaxNormalize(dtype, rows.n, rows.classes, In(a, 0), In(a, 1), In(a, 2), Out(a, 0), q);
  });
}

absl::StatusOr<PreparedCudaKernel> CudaSoftmaxNormalizeGrad(const LocalNode& node) {
  return OwnWideKernel(node, [rows = BlockRows(node)](const KernelArguments& a, DType dtype, CudaQueue q) {
    return launch::SoftmaxNormalizeGrad(dtype, rows.n, rows.classes, In(a, 0), In(a, 1), In(a, 2), Out(a, 0), q);
  });
}

absl::StatusOr<PreparedCudaKernel> CudaLogSoftmaxNormalize(const LocalNode& node) {
  return OwnWideKernel(node, [rows = BlockRows(node)](const KernelArguments& a, DType dtype, CudaQueue q) {
    return launch::LogSoftmaxNormalize(dtype, rows.n, rows.classes, In(a, 0), In(a, 1), In(a, 2), Out(a, 0), q);
  });
}

absl::StatusOr<PreparedCudaKernel> CudaLogSoftmaxNormalizeGrad(const LocalNode& node) {
  return OwnWideKernel(node, [rows = BlockRows(node)](const KernelArguments& a, DType dtype, CudaQueue q) {
    return launch::LogSoftmaxNormalizeGrad(dtype, rows.n, rows.classes, In(a, 0), In(a, 1), Out(a, 0), q);
  });
}

// (logits, labels, sample_weight?, maximum, sum)
absl::StatusOr<PreparedCudaKernel> CudaCrossEntropy(const LocalNode& node) {
  const launch::LabelledRows rows = RowsOf(node);
  return OwnLabelledKernel(
      node,
      [rows](const KernelArguments& a, DType dtype, CudaQueue q) {
        return launch::CrossEntropyShares(dtype, Bound(rows, a), In(a, 3), In(a, 4), Out(a, 0),
                                          static_cast<double*>(a.workspace), q);
      },
      RowBytes(rows));
}

// (logits, labels, sample_weight?, dloss)
absl::StatusOr<PreparedCudaKernel> CudaCrossEntropyLogitsGrad(const LocalNode& node) {
  return OwnLabelledKernel(node, [rows = RowsOf(node)](const KernelArguments& a, DType dtype, CudaQueue q) {
    return launch::CrossEntropyLogitsGrad(dtype, Bound(rows, a), In(a, 3), Out(a, 0), q);
  });
}

// (sum, labels, sample_weight?, dloss)
absl::StatusOr<PreparedCudaKernel> CudaCrossEntropySumGrad(const LocalNode& node) {
  const Shape& sum = InputShape(node, 0);
  const launch::LabelledRows rows = Weighed({Elements(sum)}, LossWeights(node, sum.size(), 2));
  return OwnWideKernel(node, [rows](const KernelArguments& a, DType dtype, CudaQueue q) {
    return launch::CrossEntropySumGrad(dtype, Bound(rows, a), In(a, 0), In(a, 3), Out(a, 0), q);
  });
}

}  // namespace partita
