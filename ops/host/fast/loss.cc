// Fast softmax and losses: rows shared among threads. Losses of single samples are added in their order.
#include "ops/functors/softmax.h"
#include "ops/host/fast/fast_kernels.h"
#include "ops/host/kernel/labels.h"
#include "ops/host/kernel/parallel.h"

namespace partita {
namespace {

// An exponential costs as much as touching so many elements.
constexpr int64_t kCostOfElement = 50;

}  // namespace

absl::StatusOr<PreparedKernel> FastLogSoftmax(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const auto [n, classes] = MakeRows(InputShape(node, 0));
  return Prepared([=](const KernelArguments& a) {
    ParallelFor(n, n * classes * kCostOfElement, [&](int64_t i) {
      LogSoftmaxRow(In<float>(a, 0) + i * classes, Out<float>(a, 0) + i * classes, classes);
    });
  });
}

absl::StatusOr<PreparedKernel> FastLogSoftmaxGrad(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const auto [n, classes] = MakeRows(InputShape(node, 0));
  return Prepared([=](const KernelArguments& a) {
    ParallelFor(n, n * classes * kCostOfElement, [&](int64_t i) {
      const int64_t row = i * classes;
      LogSoftmaxGradRow(In<float>(a, 0) + row, In<float>(a, 1) + row, Out<float>(a, 0) + row, classes);
    });
  });
}

absl::StatusOr<PreparedKernel> FastSoftmaxCrossEntropy(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const LabelledRows rows(node);
  const float smoothing = static_cast<float>(node.attributes.Float("label_smoothing"));
  const auto compute = [=](const KernelArguments& a) -> absl::Status {
    RETURN_IF_ERROR(rows.Check(a));
    float* losses = Scratch<float>(a);
    ParallelFor(rows.n, rows.n * rows.classes * kCostOfElement, [&](int64_t i) {
      losses[i] = rows.Weight<float>(a, i) *
                  CrossEntropyRow(In<float>(a, 0) + i * rows.classes, rows.classes, rows.Label(a, i), smoothing);
    });
    double sum = 0;
    for (int64_t i = 0; i < rows.n; ++i) sum += losses[i];
    *Out<float>(a, 0) = static_cast<float>(sum / rows.weights.divisor);
    return absl::OkStatus();
  };
  return Prepared(compute, rows.n * static_cast<int64_t>(sizeof(float)));
}

absl::StatusOr<PreparedKernel> FastSoftmaxCrossEntropyGrad(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const LabelledRows rows(node);
  const float smoothing = static_cast<float>(node.attributes.Float("label_smoothing"));
  return Prepared([=](const KernelArguments& a) -> absl::Status {
    RETURN_IF_ERROR(rows.Check(a));
    ParallelFor(rows.n, rows.n * rows.classes * kCostOfElement, [&](int64_t i) {
      const float factor = rows.Factor<float>(a, i);
      CrossEntropyGradRow(In<float>(a, 0) + i * rows.classes, Out<float>(a, 0) + i * rows.classes, rows.classes,
                          rows.Label(a, i), smoothing, factor);
    });
    return absl::OkStatus();
  });
}

}  // namespace partita
