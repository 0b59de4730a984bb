// Fast sampled softmax: rows shared among threads, each in vectors. Losses of single rows are added in their order.
#include <algorithm>
#include <cmath>

#include "ops/host/fast/fast_kernels.h"
#include "ops/host/fast/row_lanes.h"
#include "ops/host/fast/smooth_functions.h"
#include "ops/host/kernel/parallel.h"
#include "ops/host/kernel/sampled_rows.h"
#include "ops/host/kernel/target_clones.h"

namespace partita {
namespace {

using Row = SampledRow<float>;

// In what touching an element costs.
constexpr int64_t kCostOfElement = 10, kCostOfCorrection = 100;

// exp(logit - correction - largest), of a sample that is the label 0.
PARTITA_INLINE float Exponential(const Row& row, int64_t i, float largest) {
  const float power = ExponentialBelow0(row.logits[i] - row.corrections[i] - largest);
  return row.ids[i] == row.label ? 0.0f : power;
}

// Samples that are the label need not be told apart: they have its logit.
PARTITA_TARGET_CLONES float LargestOfRow(const Row& row, int64_t n) {
  constexpr int64_t kPiece = 256;
  float largest = row.own, corrected[kPiece];
  for (int64_t begin = 0; begin < n; begin += kPiece) {
    const int64_t length = std::min(kPiece, n - begin);
    for (int64_t i = 0; i < length; ++i) corrected[i] = row.logits[begin + i] - row.corrections[begin + i];
    largest = std::max(largest, LargestOf(corrected, length));
  }
  return largest;
}

PARTITA_TARGET_CLONES double ExponentialsOfRow(const Row& row, int64_t n, float largest) {
  return LongSumOver(n, [=](int64_t i) { return Exponential(row, i, largest); });
}

PARTITA_TARGET_CLONES void WriteGradients(const Row& row, int64_t n, float largest, float factor, float* dlogits) {
  PARTITA_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) dlogits[i] = factor * Exponential(row, i, largest);
}

// Over the label and all samples, relative to the largest logit.
struct Total {
  float largest;
  double own, sum;
};

Total TotalOfRow(const Row& row, int64_t n) {
  const float largest = LargestOfRow(row, n);
  const double own = std::exp(double{row.own} - double{largest});
  return {largest, own, own + ExponentialsOfRow(row, n, largest)};
}

float LossOf(const Row& row, int64_t n) {
  const Total total = TotalOfRow(row, n);
  return static_cast<float>(double{total.largest} - double{row.own} + std::log(total.sum));
}

// Of all samples, into scratch.
void Correct(const SampledRows& rows, const KernelArguments& a, float* corrections) {
  ParallelFor(rows.samples, rows.samples * kCostOfCorrection,
              [&](int64_t i) { corrections[i] = rows.Correction<float>(a, In<int32_t>(a, 3)[i]); });
}

}  // namespace

absl::StatusOr<PreparedKernel> FastSampledCrossEntropy(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const SampledRows rows(node);
  const auto compute = [rows](const KernelArguments& a) {
    float* const corrections = Scratch<float>(a);
    float* const losses = Scratch<float>(a, rows.correction_bytes<float>());
    Correct(rows, a, corrections);
    ParallelFor(rows.rows, rows.elements() * kCostOfElement, [&](int64_t i) {
      const Row row = rows.Row(a, corrections, i);
      losses[i] = WeightOfRow<float>(rows.weights, a, i) * LossOf(row, rows.samples);
    });
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
    Correct(rows, a, corrections);
    ParallelFor(rows.rows, rows.elements() * kCostOfElement, [&](int64_t i) {
      const Row row = rows.Row(a, corrections, i);
      const Total total = TotalOfRow(row, rows.samples);
      const double factor = rows.Factor<float>(a, i);
      Out<float>(a, 0)[i] = static_cast<float>(factor * (total.own / total.sum - 1));
      WriteGradients(row, rows.samples, total.largest, static_cast<float>(factor / total.sum),
                     Out<float>(a, 1) + i * rows.samples);
    });
  };
  return Prepared(compute, rows.correction_bytes<float>());
}

}  // namespace partita
