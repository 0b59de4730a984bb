// Fast losses: rows shared among threads, each in vectors. Losses of single samples are added in their order. Outputs
// may lie at the address of an input.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/functors/softmax.h"
#include "ops/host/fast/exponential.h"
#include "ops/host/fast/fast_kernels.h"
#include "ops/host/fast/lanes.h"
#include "ops/host/kernel/labels.h"
#include "ops/host/kernel/parallel.h"
#include "ops/host/kernel/target_clones.h"

namespace partita {
namespace {

// An exponential costs as much as touching so many elements.
constexpr int64_t kCostOfElement = 8;

// So many elements of a row are added up in the floats of as many lanes, and their sums in doubles: vocabularies are
// long. Lanes are plain arrays, of which a compiler makes vectors of any length that a machine has.
constexpr int64_t kTogether = 2048, kLanes = 32;

// The sum of f(x) over a row.
template <typename F>
PARTITA_INLINE double SumOfEach(const float* x, int64_t n, const F& f) {
  double sum = 0;
  for (int64_t begin = 0; begin < n; begin += kTogether) {
    const int64_t end = std::min(n, begin + kTogether);
    float lanes[kLanes] = {};
    int64_t i = begin;
    for (; i + kLanes <= end; i += kLanes) {
      for (int64_t l = 0; l < kLanes; ++l) lanes[l] += f(x[i + l]);
    }
    for (; i < end; ++i) lanes[0] += f(x[i]);
    for (int64_t l = 0; l < kLanes; ++l) sum += double{lanes[l]};
  }
  return sum;
}

// Of NaNs one wins.
PARTITA_INLINE float MaximumOf(const float* x, int64_t n) {
  float lanes[kLanes];
  std::fill_n(lanes, kLanes, -std::numeric_limits<float>::infinity());
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t l = 0; l < kLanes; ++l)
      lanes[l] = (x[i + l] > lanes[l]) | (x[i + l] != x[i + l]) ? x[i + l] : lanes[l];
  }
  const float of_lanes = RowMaximum(lanes, kLanes), of_rest = RowMaximum(x + i, n - i);
  return Exceeds(of_rest, of_lanes) ? of_rest : of_lanes;
}

PARTITA_TARGET_CLONES double SumOfRow(const float* x, int64_t n) {
  return SumOfEach(x, n, [](float each) { return each; });
}

PARTITA_TARGET_CLONES double LogSumExpOf(const float* x, int64_t n) {
  const float largest = MaximumOf(x, n);
  return double{largest} + std::log(SumOfEach(x, n, [=](float each) { return ExponentialBelow0(each - largest); }));
}

// y = x - total
PARTITA_TARGET_CLONES void SubtractFromRow(const float* x, float total, float* y, int64_t n) {
  PARTITA_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] - total;
}

PARTITA_TARGET_CLONES void LogSoftmaxGradient(const float* y, const float* dy, float sum, float* dx, int64_t n) {
  PARTITA_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) dx[i] = dy[i] - ExponentialBelow0(y[i]) * sum;
}

// d = factor (exp(x - total) - even), apart from the label's.
PARTITA_TARGET_CLONES void CrossEntropyGradient(const float* x, float total, float even, float factor, float* d,
                                                int64_t n) {
  PARTITA_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) d[i] = factor * (ExponentialBelow0(x[i] - total) - even);
}

// As CrossEntropyRow (ops/functors/softmax.h).
double CrossEntropyOf(const float* x, int64_t classes, int64_t label, double smoothing) {
  const double total = LogSumExpOf(x, classes), loss = (1 - smoothing) * (total - double{x[label]});
  return smoothing == 0 ? loss : loss + smoothing * (total - SumOfRow(x, classes) / static_cast<double>(classes));
}

// As CrossEntropyGradRow.
void CrossEntropyGradientOf(const float* x, int64_t classes, int64_t label, double smoothing, float factor, float* d) {
  const float even = static_cast<float>(smoothing / static_cast<double>(classes));
  const auto total = static_cast<float>(LogSumExpOf(x, classes));
  CrossEntropyGradient(x, total, even, factor, d, classes);
  d[label] -= factor * static_cast<float>(1 - smoothing);
}

}  // namespace

absl::StatusOr<PreparedKernel> FastLogSoftmax(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const auto [n, classes] = MakeRows(InputShape(node, 0));
  return Prepared([=](const KernelArguments& a) {
    ParallelFor(n, n * classes * kCostOfElement, [&](int64_t i) {
      const float* const x = In<float>(a, 0) + i * classes;
      SubtractFromRow(x, static_cast<float>(LogSumExpOf(x, classes)), Out<float>(a, 0) + i * classes, classes);
    });
  });
}

absl::StatusOr<PreparedKernel> FastLogSoftmaxGrad(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const auto [n, classes] = MakeRows(InputShape(node, 0));
  return Prepared([=](const KernelArguments& a) {
    ParallelFor(n, n * classes * kCostOfElement, [&](int64_t i) {
      const float *const y = In<float>(a, 0) + i * classes, *const dy = In<float>(a, 1) + i * classes;
      const auto sum = static_cast<float>(SumOfRow(dy, classes));
      LogSoftmaxGradient(y, dy, sum, Out<float>(a, 0) + i * classes, classes);
    });
  });
}

absl::StatusOr<PreparedKernel> FastSoftmaxCrossEntropy(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const LabelledRows rows(node);
  const double smoothing = node.attributes.Float("label_smoothing");
  const auto compute = [=](const KernelArguments& a) -> absl::Status {
    RETURN_IF_ERROR(rows.Check(a));
    float* losses = Scratch<float>(a);
    ParallelFor(rows.n, rows.n * rows.classes * kCostOfElement, [&](int64_t i) {
      const float* const x = In<float>(a, 0) + i * rows.classes;
      const double loss = CrossEntropyOf(x, rows.classes, rows.Label(a, i), smoothing);
      losses[i] = rows.Weight<float>(a, i) * static_cast<float>(loss);
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
  const double smoothing = node.attributes.Float("label_smoothing");
  return Prepared([=](const KernelArguments& a) -> absl::Status {
    RETURN_IF_ERROR(rows.Check(a));
    ParallelFor(rows.n, rows.n * rows.classes * kCostOfElement, [&](int64_t i) {
      CrossEntropyGradientOf(In<float>(a, 0) + i * rows.classes, rows.classes, rows.Label(a, i), smoothing,
                             rows.Factor<float>(a, i), Out<float>(a, 0) + i * rows.classes);
    });
    return absl::OkStatus();
  });
}

}  // namespace partita
