// Fast sampled softmax: rows shared among threads. Losses of single rows are added in their order.
#include "ops/host/fast/fast_kernels.h"
#include "ops/host/kernel/parallel.h"
#include "ops/host/kernel/sampled_rows.h"

namespace partita {
namespace {

// An exponential costs as much as touching so many elements.
constexpr int64_t kCostOfElement = 50;

}  // namespace

absl::StatusOr<PreparedKernel> FastSampledCrossEntropy(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const SampledRows rows(node);
  const auto compute = [rows](const KernelArguments& a) {
    float* const corrections = Scratch<float>(a);
    float* const losses = Scratch<float>(a, rows.correction_bytes<float>());
    rows.Correct(a, corrections);
    ParallelFor(rows.rows, rows.elements() * kCostOfElement,
                [&](int64_t i) { losses[i] = rows.Loss(a, corrections, i); });
    double sum = 0;
    for (int64_t i = 0; i < rows.rows; ++i) sum += losses[i];
    *Out<float>(a, 0) = static_cast<float>(sum / rows.weights.divisor);
  };
  return Prepared(compute, rows.correction_bytes<float>() + rows.rows * static_cast<int64_t>(sizeof(float)));
}

absl::StatusOr<PreparedKernel> FastSampledCrossEntropyGrad(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const SampledRows rows(node);
  const auto compute = [rows](const KernelArguments& a) {
    float* const corrections = Scratch<float>(a);
    rows.Correct(a, corrections);
    ParallelFor(rows.rows, rows.elements() * kCostOfElement, [&](int64_t i) { rows.Gradient(a, corrections, i); });
  };
  return Prepared(compute, rows.correction_bytes<float>());
}

}  // namespace partita
