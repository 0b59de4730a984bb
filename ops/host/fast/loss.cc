// Fast losses, of whole rows and of rows whose classes are split (ops/definitions/split_softmax.cc): rows shared among
// threads, each in vectors. Losses of single samples are added in their order. Outputs may lie at the address of input
// 0.
#include <algorithm>
#include <cmath>

#include "ops/host/fast/fast_kernels.h"
#include "ops/host/fast/row_lanes.h"
#include "ops/host/fast/smooth_functions.h"
#include "ops/host/kernel/labels.h"
#include "ops/host/kernel/parallel.h"
#include "ops/host/kernel/target_clones.h"

namespace partita {
namespace {

// An exponential costs as much as touching so many elements.
constexpr int64_t kCostOfElement = 8;

PARTITA_TARGET_CLONES double SumOfRow(const float* x, int64_t n) {
  return LongSumOver(n, [x](int64_t i) { return x[i]; });
}

PARTITA_TARGET_CLONES float LargestOfRow(const float* x, int64_t n) { return LargestOf(x, n); }

// Of a row the largest value, and the sum of exp(x - largest).
struct Exponentials {
  float largest;
  double sum;

  double log_total() const { return double{largest} + std::log(sum); }
};

// The row behind is fetched meanwhile: exponentials keep a core busy while its memory is idle.
PARTITA_TARGET_CLONES Exponentials ExponentialsOf(const float* x, int64_t n) {
  const float largest = LargestOf(x, n);
  const auto exponential = [=](int64_t i) { return ExponentialBelow0(x[i] - largest); };
  return {largest, LongSumOver(n, exponential, x + n)};
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

// y = exp(x - largest), and the sum of them; the row behind is fetched here, too.
PARTITA_TARGET_CLONES double KeepExponentials(const float* x, float largest, float* y, int64_t n) {
  for (int64_t begin = 0; begin < n; begin += kFetchedElements) {
    const int64_t end = std::min(n, begin + kFetchedElements);
    FetchRow(x + n + begin, end - begin);
    PARTITA_INDEPENDENT
    for (int64_t i = begin; i < end; ++i) y[i] = ExponentialBelow0(x[i] - largest);
  }
  return LongSumOver(n, [y](int64_t i) { return y[i]; });
}

// d = factor (d / sum - even), apart from the label's. The difference has more digits than one from the logarithm of
// the sum.
PARTITA_TARGET_CLONES void CrossEntropyGradient(float inverse, float even, float factor, float* d, int64_t n) {
  PARTITA_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) d[i] = factor * (d[i] * inverse - even);
}

// As CrossEntropyRow (ops/functors/softmax.h).
double CrossEntropyOf(const float* x, int64_t classes, int64_t label, double smoothing) {
  const double total = ExponentialsOf(x, classes).log_total(), loss = (1 - smoothing) * (total - double{x[label]});
  return smoothing == 0 ? loss : loss + smoothing * (total - SumOfRow(x, classes) / static_cast<double>(classes));
}

// As CrossEntropyGradRow.
void CrossEntropyGradientOf(const float* x, int64_t classes, int64_t label, double smoothing, float factor, float* d) {
  const float even = static_cast<float>(smoothing / static_cast<double>(classes));
  const double sum = KeepExponentials(x, LargestOfRow(x, classes), d, classes);
  CrossEntropyGradient(static_cast<float>(1 / sum), even, factor, d, classes);
  d[label] -= factor * static_cast<float>(1 - smoothing);
}

// As CrossEntropyShare. `label` counts from the first class that is here.
double CrossEntropyShareOf(const float* x, const LabelledRows& rows, int64_t label, double smoothing, double total) {
  const double loss = label >= 0 && label < rows.classes ? (1 - smoothing) * (total - double{x[label]}) : 0;
  if (smoothing == 0) return loss;
  const double all = static_cast<double>(rows.classes) * total - SumOfRow(x, rows.classes);
  return loss + smoothing / static_cast<double>(rows.all_classes) * all;
}

// The weighted mean of loss(arguments, row), which costs what touching so many elements does.
template <typename F>
PreparedKernel MeanOfLosses(const LabelledRows& rows, int64_t elements_of_row, F loss) {
  const auto compute = [=](const KernelArguments& a) -> absl::Status {
    RETURN_IF_ERROR(rows.Check(a));
    float* const losses = Scratch<float>(a);
    ParallelFor(rows.n, rows.n * elements_of_row, [&](int64_t i) {
      losses[i] = rows.Ignores(a, i) ? 0 : rows.Weight<float>(a, i) * static_cast<float>(loss(a, i));
    });
    double sum = 0;
    for (int64_t i = 0; i < rows.n; ++i) sum += losses[i];
    *Out<float>(a, 0) = static_cast<float>(sum / rows.weights.divisor);
    return absl::OkStatus();
  };
  return Prepared(compute, rows.n * static_cast<int64_t>(sizeof(float)));
}

}  // namespace

absl::StatusOr<PreparedKernel> FastLogSoftmax(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const auto [n, classes] = MakeRows(InputShape(node, 0));
  return Prepared([=](const KernelArguments& a) {
    ParallelFor(n, n * classes * kCostOfElement, [&](int64_t i) {
      const float* const x = In<float>(a, 0) + i * classes;
      const auto total = static_cast<float>(ExponentialsOf(x, classes).log_total());
      SubtractFromRow(x, total, Out<float>(a, 0) + i * classes, classes);
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
  return MeanOfLosses(rows, rows.classes * kCostOfElement, [=](const KernelArguments& a, int64_t i) {
    return CrossEntropyOf(In<float>(a, 0) + i * rows.classes, rows.classes, rows.Label(a, i), smoothing);
  });
}

absl::StatusOr<PreparedKernel> FastSoftmaxCrossEntropyGrad(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const LabelledRows rows(node);
  const double smoothing = node.attributes.Float("label_smoothing");
  return Prepared([=](const KernelArguments& a) -> absl::Status {
    RETURN_IF_ERROR(rows.Check(a));
    ParallelFor(rows.n, rows.n * rows.classes * kCostOfElement, [&](int64_t i) {
      float* const d = Out<float>(a, 0) + i * rows.classes;
      if (rows.Ignores(a, i)) {
        std::fill_n(d, rows.classes, 0.0F);
      } else {
        CrossEntropyGradientOf(In<float>(a, 0) + i * rows.classes, rows.classes, rows.Label(a, i), smoothing,
                               rows.Factor<float>(a, i), d);
      }
    });
    return absl::OkStatus();
  });
}

// (logits, labels, sample_weight?, maximum, sum)
absl::StatusOr<PreparedKernel> FastCrossEntropy(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const LabelledRows rows(node);
  const double smoothing = node.attributes.Float("label_smoothing");
  const int64_t touched = smoothing == 0 ? kCostOfElement : rows.classes;
  return MeanOfLosses(rows, touched, [=](const KernelArguments& a, int64_t i) {
    const double total = double{In<float>(a, 3)[i]} + std::log(double{In<float>(a, 4)[i]});
    const int64_t label = rows.Label(a, i) - rows.first_class;
    return CrossEntropyShareOf(In<float>(a, 0) + i * rows.classes, rows, label, smoothing, total);
  });
}

absl::StatusOr<PreparedKernel> FastCrossEntropyLogitsGrad(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const LabelledRows rows(node);
  const double smoothing = node.attributes.Float("label_smoothing");
  const auto even = static_cast<float>(smoothing / static_cast<double>(rows.all_classes));
  return Prepared([=](const KernelArguments& a) -> absl::Status {
    RETURN_IF_ERROR(rows.Check(a));
    ParallelFor(rows.n, rows.n * rows.classes, [&](int64_t i) {
      float* const d = Out<float>(a, 0) + i * rows.classes;
      const float factor = rows.Ignores(a, i) ? 0 : rows.Factor<float>(a, i);
      std::fill_n(d, rows.classes, -factor * even);
      const int64_t label = rows.Label(a, i) - rows.first_class;
      if (label >= 0 && label < rows.classes) d[label] -= factor * static_cast<float>(1 - smoothing);
    });
    return absl::OkStatus();
  });
}

}  // namespace partita
