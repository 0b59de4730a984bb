// Softmax, losses and accuracy of a node.
#include "ops/cuda/launch/loss.h"

#include "ops/cuda/kernel/labelled_kernel.h"
#include "ops/cuda/own/own_kernels.h"

namespace partita {
absl::StatusOr<PreparedCudaKernel> CudaSoftmax(const LocalNode& node) {
  return OwnWideKernel(node, [x = MakeRows(InputShape(node, 0))](const KernelArguments& a, DType dtype, CudaQueue q) {
    return launch::Softmax(dtype, x.rows, x.channels, In(a, 0), Out(a, 0), q);
  });
}

absl::StatusOr<PreparedCudaKernel> CudaSoftmaxGrad(const LocalNode& node) {
  return OwnWideKernel(node, [y = MakeRows(InputShape(node, 0))](const KernelArguments& a, DType dtype, CudaQueue q) {
    return launch::SoftmaxGrad(dtype, y.rows, y.channels, In(a, 0), In(a, 1), Out(a, 0), q);
  });
}

absl::StatusOr<PreparedCudaKernel> CudaLogSoftmax(const LocalNode& node) {
  return OwnWideKernel(node, [x = MakeRows(InputShape(node, 0))](const KernelArguments& a, DType dtype, CudaQueue q) {
    return launch::LogSoftmax(dtype, x.rows, x.channels, In(a, 0), Out(a, 0), q);
  });
}

absl::StatusOr<PreparedCudaKernel> CudaLogSoftmaxGrad(const LocalNode& node) {
  return OwnWideKernel(node, [y = MakeRows(InputShape(node, 0))](const KernelArguments& a, DType dtype, CudaQueue q) {
    return launch::LogSoftmaxGrad(dtype, y.rows, y.channels, In(a, 0), In(a, 1), Out(a, 0), q);
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

// (labels, sample_weight?)
absl::StatusOr<PreparedCudaKernel> CudaCountLabels(const LocalNode& node) {
  const Shape& labels = InputShape(node, 0);
  const launch::LabelledRows rows = Weighed({Elements(labels)}, LossWeights(node, labels.size(), 1));
  return OwnWideKernel(
      node,
      [rows](const KernelArguments& a, DType dtype, CudaQueue q) {
        launch::LabelledRows bound = rows;
        bound.labels = In<int32_t>(a, 0);
        bound.weights = In(a, 1);
        return launch::CountLabels(dtype, bound, Out(a, 0), static_cast<double*>(a.workspace), q);
      },
      RowBytes(rows));
}

absl::StatusOr<PreparedCudaKernel> CudaAccuracy(const LocalNode& node) {
  const launch::LabelledRows rows = RowsOf(node);
  return OwnLabelledKernel(
      node,
      [rows, top = node.attributes.Int("top")](const KernelArguments& a, DType dtype, CudaQueue q) {
        return launch::Accuracy(dtype, Bound(rows, a), top, Out(a, 0), static_cast<double*>(a.workspace), q);
      },
      RowBytes(rows));
}

}  // namespace partita
