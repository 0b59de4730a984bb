// Reference kernels of softmax, losses and accuracy. A label that is no class is an error of the data, reported with
// its place in the global batch.
#include "ops/functors/softmax.h"
#include "ops/host/kernel/labels.h"
#include "ops/host/reference/reference_kernels.h"

namespace partita {

absl::StatusOr<PreparedKernel> ReferenceLogSoftmax(const LocalNode& node) {
  const int64_t n = InputShape(node, 0)[0], classes = InputShape(node, 0)[1];
  return PreparedFloating(node.outputs[0].dtype, [=]<typename T>(const KernelArguments& a) {
    for (int64_t i = 0; i < n; ++i) LogSoftmaxRow(In<T>(a, 0) + i * classes, Out<T>(a, 0) + i * classes, classes);
  });
}

absl::StatusOr<PreparedKernel> ReferenceLogSoftmaxGrad(const LocalNode& node) {
  const int64_t n = InputShape(node, 0)[0], classes = InputShape(node, 0)[1];
  return PreparedFloating(node.outputs[0].dtype, [=]<typename T>(const KernelArguments& a) {
    for (int64_t i = 0; i < n; ++i) {
      LogSoftmaxGradRow(In<T>(a, 0) + i * classes, In<T>(a, 1) + i * classes, Out<T>(a, 0) + i * classes, classes);
    }
  });
}

absl::StatusOr<PreparedKernel> ReferenceSoftmaxCrossEntropy(const LocalNode& node) {
  const LabelledRows rows(node);
  const double smoothing = node.attributes.Float("label_smoothing");
  return PreparedFloating(node.outputs[0].dtype, [=]<typename T>(const KernelArguments& a) -> absl::Status {
    RETURN_IF_ERROR(rows.Check(a));
    double sum = 0;
    for (int64_t i = 0; i < rows.n; ++i) {
      const T loss = CrossEntropyRow(In<T>(a, 0) + i * rows.classes, rows.classes, rows.Label(a, i), T(smoothing));
      sum += static_cast<double>(rows.Weight<T>(a, i) * loss);
    }
    *Out<T>(a, 0) = static_cast<T>(sum / rows.global_n);
    return absl::OkStatus();
  });
}

absl::StatusOr<PreparedKernel> ReferenceSoftmaxCrossEntropyGrad(const LocalNode& node) {
  const LabelledRows rows(node);
  const double smoothing = node.attributes.Float("label_smoothing");
  return PreparedFloating(node.outputs[0].dtype, [=]<typename T>(const KernelArguments& a) -> absl::Status {
    RETURN_IF_ERROR(rows.Check(a));
    for (int64_t i = 0; i < rows.n; ++i) {
      const T factor = rows.Factor<T>(a, i);
      CrossEntropyGradRow(In<T>(a, 0) + i * rows.classes, Out<T>(a, 0) + i * rows.classes, rows.classes,
                          rows.Label(a, i), T(smoothing), factor);
    }
    return absl::OkStatus();
  });
}

absl::StatusOr<PreparedKernel> ReferenceAccuracy(const LocalNode& node) {
  const LabelledRows rows(node);
  return PreparedFloating(node.outputs[0].dtype, [=]<typename T>(const KernelArguments& a) -> absl::Status {
    RETURN_IF_ERROR(rows.Check(a));
    double sum = 0;
    for (int64_t i = 0; i < rows.n; ++i) {
      const bool right = ArgMax(In<T>(a, 0) + i * rows.classes, rows.classes) == rows.Label(a, i);
      if (right) sum += static_cast<double>(rows.Weight<T>(a, i));
    }
    *Out<T>(a, 0) = static_cast<T>(sum / rows.global_n);
    return absl::OkStatus();
  });
}

}  // namespace partita
