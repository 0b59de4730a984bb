// Fast sums over one run of dimensions, what is the same along it, and the mean squared error. Sums are taken in
// double.
#include <algorithm>

#include "ops/functors/squared_error.h"
#include "ops/host/fast/fast_kernels.h"
#include "ops/host/fast/wide_rows.h"
#include "ops/host/kernel/parallel.h"
#include "ops/host/kernel/target_clones.h"
#include "ops/values/sum_geometry.h"

namespace partita {
namespace {

PARTITA_TARGET_CLONES void AddRows(const float* x, int64_t elements, int64_t width, double* sum) {
  for (int64_t done = 0; done < elements; done += width) {
    const int64_t length = elements - done < width ? elements - done : width;
    PARTITA_INDEPENDENT
    for (int64_t i = 0; i < length; ++i) sum[i] += static_cast<double>(x[done + i]);
  }
}

constexpr int64_t kTogether = 32;

// y[c] = sum over the rows of x[row][c]: so many channels at a time, or of one channel so many rows.
void SumGroup(const float* x, int64_t rows, int64_t channels, double divisor, float* y) {
  if (channels == 1) {
    double sums[kTogether] = {}, sum = 0;
    AddRows(x, rows, kTogether, sums);
    for (const double part : sums) sum += part;
    *y = static_cast<float>(sum / divisor);
    return;
  }
  for (int64_t c = 0; c < channels; c += kTogether) {
    const int64_t count = std::min(kTogether, channels - c);
    double sums[kTogether] = {};
    for (int64_t r = 0; r < rows; ++r) AddRows(x + r * channels + c, count, count, sums);
    for (int64_t k = 0; k < count; ++k) y[c + k] = static_cast<float>(sums[k] / divisor);
  }
}

// Groups that a few threads share; of fewer ones they share the rows.
constexpr int64_t kManyGroups = 64;

absl::StatusOr<SampleGroups> OneRun(const SummedRuns& runs) {
  const std::optional<SampleGroups> columns = ColumnsOf(runs);
  if (columns) return *columns;
  return InvalidArgument("the axes lie apart, with others between them");
}

PreparedKernel SumOfManyGroups(const SampleGroups& x, double divisor) {
  return Prepared([=](const KernelArguments& a) {
    const int64_t elements = x.rows_per_group * x.channels;
    ParallelFor(x.groups, x.groups * elements, [&](int64_t g) {
      SumGroup(In<float>(a, 0) + g * elements, x.rows_per_group, x.channels, divisor,
               Out<float>(a, 0) + g * x.channels);
    });
  });
}

PreparedKernel SumOfFewGroups(const SampleGroups& x, double divisor) {
  const WideRows rows(x);
  const auto compute = [=](const KernelArguments& a) {
    rows.Reduce<double>(
        Scratch<void>(a),
        [&](int64_t, int64_t begin, int64_t end, double* sum, double*) {
          AddRows(In<float>(a, 0) + begin, end - begin, rows.width(), sum);
        },
        [&](int64_t g, int64_t c, double sum, double) {
          Out<float>(a, 0)[g * x.channels + c] = static_cast<float>(sum / divisor);
        });
  };
  return Prepared(compute, rows.reduction_bytes<double>());
}

PARTITA_TARGET_CLONES void Quotients(const float* x, int64_t n, float divisor, float* y) {
  PARTITA_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] / divisor;
}

void ExpandGroup(const float* x, int64_t rows, int64_t channels, float divisor, float* y) {
  if (channels == 1) {
    std::fill(y, y + rows, *x / divisor);
    return;
  }
  if (rows > 0) Quotients(x, channels, divisor, y);
  for (int64_t r = 1; r < rows; ++r) std::copy(y, y + channels, y + r * channels);
}

// Of a row of numbers in so many lanes, whose sums are added in their order.
PARTITA_TARGET_CLONES double SquaredErrors(const float* x, const float* t, int64_t n, float weight) {
  double sums[kTogether] = {}, sum = 0;
  for (int64_t done = 0; done < n; done += kTogether) {
    const int64_t length = n - done < kTogether ? n - done : kTogether;
    PARTITA_INDEPENDENT
    for (int64_t i = 0; i < length; ++i) sums[i] += SquaredError(x[done + i], t[done + i], weight);
  }
  for (const double part : sums) sum += part;
  return sum;
}

PARTITA_TARGET_CLONES void Differences(const float* x, const float* t, int64_t n, float factor, float* d) {
  PARTITA_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) d[i] = factor * (x[i] - t[i]);
}

float WeightOf(const KernelArguments& a, int64_t sample) {
  const float* const weights = In<float>(a, 2);
  return weights == nullptr ? 1.0f : weights[sample];
}

}  // namespace

absl::StatusOr<PreparedKernel> FastSum(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(Input(node, 0).dtype));
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  ASSIGN_OR_RETURN(const SampleGroups x, OneRun(SummedRunsOf(node)));
  const double divisor = DivisorOfSum(node);
  return x.groups > kManyGroups ? SumOfManyGroups(x, divisor) : SumOfFewGroups(x, divisor);
}

// From the last input, as the reference.
absl::StatusOr<PreparedKernel> FastExpand(const LocalNode& node) {
  const size_t from = node.inputs.size() - 1;
  RETURN_IF_ERROR(RequireF32(Input(node, from).dtype));
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  ASSIGN_OR_RETURN(const SampleGroups y, OneRun(ExpandedRunsOf(node)));
  const auto divisor = static_cast<float>(DivisorOfExpansion(node));
  return Prepared([=](const KernelArguments& a) {
    const int64_t elements = y.rows_per_group * y.channels;
    ParallelFor(y.groups, y.groups * elements, [&](int64_t g) {
      ExpandGroup(In<float>(a, from) + g * y.channels, y.rows_per_group, y.channels, divisor,
                  Out<float>(a, 0) + g * elements);
    });
  });
}

absl::StatusOr<PreparedKernel> FastMeanSquaredError(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const ErrorRows rows = ErrorRowsOf(node);
  const auto compute = [=](const KernelArguments& a) {
    double* const errors = Scratch<double>(a);
    ParallelFor(rows.samples, rows.elements(), [&](int64_t i) {
      const int64_t at = i * rows.numbers;
      errors[i] = SquaredErrors(In<float>(a, 0) + at, In<float>(a, 1) + at, rows.numbers, WeightOf(a, i));
    });
    double sum = 0;
    for (int64_t i = 0; i < rows.samples; ++i) sum += errors[i];
    *Out<float>(a, 0) = static_cast<float>(sum / rows.divisor);
  };
  return Prepared(compute, rows.samples * static_cast<int64_t>(sizeof(double)));
}

absl::StatusOr<PreparedKernel> FastMeanSquaredErrorGrad(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const ErrorRows rows = ErrorRowsOf(node);
  return Prepared([rows](const KernelArguments& a) {
    const float* const dloss = In<float>(a, 3);
    ParallelFor(rows.samples, rows.elements(), [&](int64_t i) {
      const int64_t at = i * rows.numbers;
      const float factor = SquaredErrorFactor(dloss == nullptr ? 1.0f : *dloss, WeightOf(a, i), rows.divisor);
      Differences(In<float>(a, 0) + at, In<float>(a, 1) + at, rows.numbers, factor, Out<float>(a, 0) + at);
    });
  });
}

}  // namespace partita
