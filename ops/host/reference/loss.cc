// Reference kernels of softmax, losses and accuracy. A label that is no class is an error of the data, reported with
// its place in the global batch.
#include <algorithm>

#include "ops/functors/softmax.h"
#include "ops/host/kernel/labels.h"
#include "ops/host/reference/reference_kernels.h"

namespace partita {

namespace {

// f(first element of a row, classes) for every row.
template <typename F>
void ForRows(const ChannelRows& rows, const F& f) {
  for (int64_t i = 0; i < rows.rows; ++i) f(i * rows.channels, rows.channels);
}

}  // namespace

absl::StatusOr<PreparedKernel> ReferenceSoftmax(const LocalNode& node) {
  return PreparedFloating(node.outputs[0].dtype, [rows = MakeRows(InputShape(node, 0))]<typename T>(
                                                     const KernelArguments& a) {
    ForRows(rows, [&](int64_t row, int64_t classes) { SoftmaxRow(In<T>(a, 0) + row, Out<T>(a, 0) + row, classes); });
  });
}

absl::StatusOr<PreparedKernel> ReferenceSoftmaxGrad(const LocalNode& node) {
  return PreparedFloating(node.outputs[0].dtype,
                          [rows = MakeRows(InputShape(node, 0))]<typename T>(const KernelArguments& a) {
                            ForRows(rows, [&](int64_t row, int64_t classes) {
                              SoftmaxGradRow(In<T>(a, 0) + row, In<T>(a, 1) + row, Out<T>(a, 0) + row, classes);
                            });
                          });
}

absl::StatusOr<PreparedKernel> ReferenceLogSoftmax(const LocalNode& node) {
  return PreparedFloating(node.outputs[0].dtype, [rows = MakeRows(InputShape(node, 0))]<typename T>(
                                                     const KernelArguments& a) {
    ForRows(rows, [&](int64_t row, int64_t classes) { LogSoftmaxRow(In<T>(a, 0) + row, Out<T>(a, 0) + row, classes); });
  });
}

absl::StatusOr<PreparedKernel> ReferenceLogSoftmaxGrad(const LocalNode& node) {
  return PreparedFloating(node.outputs[0].dtype,
                          [rows = MakeRows(InputShape(node, 0))]<typename T>(const KernelArguments& a) {
                            ForRows(rows, [&](int64_t row, int64_t classes) {
                              LogSoftmaxGradRow(In<T>(a, 0) + row, In<T>(a, 1) + row, Out<T>(a, 0) + row, classes);
                            });
                          });
}

absl::StatusOr<PreparedKernel> ReferenceSoftmaxCrossEntropy(const LocalNode& node) {
  const LabelledRows rows(node);
  const double smoothing = node.attributes.Float("label_smoothing");
  return PreparedFloating(node.outputs[0].dtype, [=]<typename T>(const KernelArguments& a) -> absl::Status {
    RETURN_IF_ERROR(rows.Check(a));
    double sum = 0;
    for (int64_t i = 0; i < rows.n; ++i) {
      if (rows.Ignores(a, i)) continue;
      const T loss = CrossEntropyRow(In<T>(a, 0) + i * rows.classes, rows.classes, rows.Label(a, i), T(smoothing));
      sum += static_cast<double>(rows.Weight<T>(a, i) * loss);
    }
    *Out<T>(a, 0) = static_cast<T>(sum / rows.weights.divisor);
    return absl::OkStatus();
  });
}

absl::StatusOr<PreparedKernel> ReferenceSoftmaxCrossEntropyGrad(const LocalNode& node) {
  const LabelledRows rows(node);
  const double smoothing = node.attributes.Float("label_smoothing");
  return PreparedFloating(node.outputs[0].dtype, [=]<typename T>(const KernelArguments& a) -> absl::Status {
    RETURN_IF_ERROR(rows.Check(a));
    for (int64_t i = 0; i < rows.n; ++i) {
      T* const d = Out<T>(a, 0) + i * rows.classes;
      if (rows.Ignores(a, i)) {
        std::fill_n(d, rows.classes, T(0));
      } else {
        CrossEntropyGradRow(In<T>(a, 0) + i * rows.classes, d, rows.classes, rows.Label(a, i), T(smoothing),
                            rows.Factor<T>(a, i));
      }
    }
    return absl::OkStatus();
  });
}

// (labels, sample_weight?)
absl::StatusOr<PreparedKernel> ReferenceCountLabels(const LocalNode& node) {
  const LossWeights weights(node, InputShape(node, 0).size(), 1);
  const int64_t n = Elements(InputShape(node, 0));
  return PreparedFloating(node.outputs[0].dtype, [=]<typename T>(const KernelArguments& a) {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) {
      if (In<int32_t>(a, 0)[i] != weights.ignored) sum += static_cast<double>(WeightOfRow<T>(weights, a, i));
    }
    *Out<T>(a, 0) = static_cast<T>(sum);
  });
}

absl::StatusOr<PreparedKernel> ReferenceAccuracy(const LocalNode& node) {
  const LabelledRows rows(node);
  const int64_t top = node.attributes.Int("top");
  return PreparedFloating(node.outputs[0].dtype, [=]<typename T>(const KernelArguments& a) -> absl::Status {
    RETURN_IF_ERROR(rows.Check(a));
    double sum = 0;
    for (int64_t i = 0; i < rows.n; ++i) {
      if (rows.Ignores(a, i)) continue;
      if (ClassesBefore(In<T>(a, 0) + i * rows.classes, rows.classes, rows.Label(a, i)) < top)
        sum += static_cast<double>(rows.Weight<T>(a, i));
    }
    *Out<T>(a, 0) = static_cast<T>(sum / rows.weights.divisor);
    return absl::OkStatus();
  });
}

}  // namespace partita
