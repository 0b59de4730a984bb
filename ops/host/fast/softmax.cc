// Fast softmax of whole rows, and the pieces of one whose classes are split (ops/definitions/split_softmax.cc): rows
// shared among threads, each in vectors. Outputs may lie at the address of input 0.
#include "ops/host/fast/fast_kernels.h"
#include "ops/host/fast/row_lanes.h"
#include "ops/host/fast/smooth_functions.h"
#include "ops/host/kernel/parallel.h"
#include "ops/host/kernel/target_clones.h"

namespace partita {
namespace {

// In what touching an element costs.
constexpr int64_t kCostOfExponential = 8, kCostOfGradient = 2;

PARTITA_TARGET_CLONES void Softmax(const float* x, float* y, int64_t n) {
  const float largest = LargestOf(x, n);
  PARTITA_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) y[i] = ExponentialBelow0(x[i] - largest);
  const float inverse = 1 / SumOver(n, [y](int64_t i) { return y[i]; });
  PARTITA_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) y[i] *= inverse;
}

PARTITA_TARGET_CLONES void SoftmaxGradient(const float* y, const float* dy, float* dx, int64_t n) {
  const float sum = SumOver(n, [y, dy](int64_t i) { return y[i] * dy[i]; });
  PARTITA_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) dx[i] = y[i] * (dy[i] - sum);
}

PARTITA_TARGET_CLONES float LargestOfRow(const float* x, int64_t n) { return LargestOf(x, n); }

// The maximum is that of all classes: nothing here is above it.
PARTITA_TARGET_CLONES double SumOfExponentials(const float* x, float maximum, int64_t n) {
  return LongSumOver(n, [=](int64_t i) { return ExponentialBelow0(x[i] - maximum); });
}

PARTITA_TARGET_CLONES void ScaledExponentials(const float* x, float maximum, float factor, float* y, int64_t n) {
  PARTITA_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) y[i] = ExponentialBelow0(x[i] - maximum) * factor;
}

// Calls f(a, row) for each of n rows.
template <typename F>
PreparedKernel OfEachRow(int64_t n, int64_t elements, F f) {
  return Prepared([=](const KernelArguments& a) { ParallelFor(n, elements, [&](int64_t i) { f(a, i); }); });
}

}  // namespace

absl::StatusOr<PreparedKernel> FastSoftmax(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  return Prepared([rows = MakeRows(InputShape(node, 0))](const KernelArguments& a) {
    ParallelFor(rows.rows, rows.elements() * kCostOfExponential, [&](int64_t i) {
      const int64_t row = i * rows.channels;
      Softmax(In<float>(a, 0) + row, Out<float>(a, 0) + row, rows.channels);
    });
  });
}

absl::StatusOr<PreparedKernel> FastSoftmaxGrad(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  return Prepared([rows = MakeRows(InputShape(node, 0))](const KernelArguments& a) {
    ParallelFor(rows.rows, rows.elements() * kCostOfGradient, [&](int64_t i) {
      const int64_t row = i * rows.channels;
      SoftmaxGradient(In<float>(a, 0) + row, In<float>(a, 1) + row, Out<float>(a, 0) + row, rows.channels);
    });
  });
}

absl::StatusOr<PreparedKernel> FastRowMaximum(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const int64_t n = MakeRows(InputShape(node, 0)).rows, classes = InputShape(node, 0).back();
  return OfEachRow(n, n * classes, [=](const KernelArguments& a, int64_t i) {
    Out<float>(a, 0)[i] = LargestOfRow(In<float>(a, 0) + i * classes, classes);
  });
}

absl::StatusOr<PreparedKernel> FastRowExponentials(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const int64_t n = MakeRows(InputShape(node, 0)).rows, classes = InputShape(node, 0).back();
  return OfEachRow(n, n * classes * kCostOfExponential, [=](const KernelArguments& a, int64_t i) {
    const double sum = SumOfExponentials(In<float>(a, 0) + i * classes, In<float>(a, 1)[i], classes);
    Out<float>(a, 0)[i] = static_cast<float>(sum);
  });
}

absl::StatusOr<PreparedKernel> FastRowExponentialsGrad(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const int64_t n = MakeRows(InputShape(node, 0)).rows, classes = InputShape(node, 0).back();
  return OfEachRow(n, n * classes * kCostOfExponential, [=](const KernelArguments& a, int64_t i) {
    const float maximum = In<float>(a, 1)[i], dsum = In<float>(a, 2)[i];
    ScaledExponentials(In<float>(a, 0) + i * classes, maximum, dsum, Out<float>(a, 0) + i * classes, classes);
  });
}

}  // namespace partita
