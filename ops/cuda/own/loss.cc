// Softmax, losses and accuracy of a node.
#include "ops/cuda/launch/loss.h"

#include "ops/cuda/kernel/labelled_kernel.h"
#include "ops/cuda/own/own_kernels.h"

namespace partita {
absl::StatusOr<PreparedCudaKernel> CudaLogSoftmax(const LocalNode& node) {
  const int64_t rows = InputShape(node, 0)[0], classes = InputShape(node, 0)[1];
  return OwnWideKernel(node, [=](const KernelArguments& a, DType dtype, CudaQueue q) {
    return launch::LogSoftmax(dtype, rows, classes, In(a, 0), Out(a, 0), q);
  });
}

absl::StatusOr<PreparedCudaKernel> CudaLogSoftmaxGrad(const LocalNode& node) {
  const int64_t rows = InputShape(node, 0)[0], classes = InputShape(node, 0)[1];
  return OwnWideKernel(node, [=](const KernelArguments& a, DType dtype, CudaQueue q) {
    return launch::LogSoftmaxGrad(dtype, rows, classes, In(a, 0), In(a, 1), Out(a, 0), q);
  });
}

absl::StatusOr<PreparedCudaKernel> CudaSoftmaxCrossEntropy(const LocalNode& node) {
  const launch::LabelledRows rows = RowsOf(node);
  return OwnLabelledKernel(
      node,
      [rows](const KernelArguments& a, DType dtype, CudaQueue q) {
        return launch::CrossEntropy(dtype, Bound(rows, a), Out(a, 0), static_cast<double*>(a.workspace), q);
      },
      RowBytes(rows));
}

// (logits, labels, sample_weight?, dloss or absent)
absl::StatusOr<PreparedCudaKernel> CudaSoftmaxCrossEntropyGrad(const LocalNode& node) {
  return OwnLabelledKernel(node, [rows = RowsOf(node)](const KernelArguments& a, DType dtype, CudaQueue q) {
    return launch::CrossEntropyGrad(dtype, Bound(rows, a), In(a, 3), Out(a, 0), q);
  });
}

absl::StatusOr<PreparedCudaKernel> CudaAccuracy(const LocalNode& node) {
  const launch::LabelledRows rows = RowsOf(node);
  return OwnLabelledKernel(
      node,
      [rows](const KernelArguments& a, DType dtype, CudaQueue q) {
        return launch::Accuracy(dtype, Bound(rows, a), Out(a, 0), static_cast<double*>(a.workspace), q);
      },
      RowBytes(rows));
}

}  // namespace partita
