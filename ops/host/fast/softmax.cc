// Fast softmax: rows shared among threads, each in vectors. Outputs may lie at the address of an input.
#include "ops/host/fast/exponential.h"
#include "ops/host/fast/fast_kernels.h"
#include "ops/host/fast/row_lanes.h"
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

}  // namespace partita
