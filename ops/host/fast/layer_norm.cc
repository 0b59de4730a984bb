// Fast layer normalization: rows shared among threads, each in vectors. What is summed are differences from the row's
// first element, which are small however large the mean is.
#include "ops/functors/layer_norm.h"

#include "ops/host/fast/fast_kernels.h"
#include "ops/host/fast/row_lanes.h"
#include "ops/host/fast/wide_rows.h"
#include "ops/host/kernel/parallel.h"
#include "ops/host/kernel/target_clones.h"

namespace partita {
namespace {

// In what touching an element costs.
constexpr int64_t kCostOfElement = 4;

// x - mean is (x - near) - rest, where both differences are exact enough: `near` is a number about the mean.
struct Centre {
  float near, rest;
};

struct FloatRow {
  Centre mean;
  float inverse;
};

PARTITA_INLINE float SumOfDifferences(const float* x, int64_t n, float near) {
  return SumOver(n, [=](int64_t i) { return x[i] - near; });
}

PARTITA_INLINE float SumOfSquares(const float* x, int64_t n, Centre mean) {
  return SumOver(n, [=](int64_t i) {
    const float d = (x[i] - mean.near) - mean.rest;
    return d * d;
  });
}

PARTITA_INLINE FloatRow StatisticsOf(const float* x, int64_t n, double epsilon) {
  const auto count = static_cast<double>(n);
  const Centre mean{x[0], static_cast<float>(SumOfDifferences(x, n, x[0]) / count)};
  return {mean, static_cast<float>(InverseDeviation(SumOfSquares(x, n, mean), count, epsilon))};
}

PARTITA_TARGET_CLONES void NormalizeRow(const float* x, const float* gamma, const float* beta, float* y, int64_t n,
                                        double epsilon) {
  const FloatRow row = StatisticsOf(x, n, epsilon);
  PARTITA_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) {
    y[i] = ((x[i] - row.mean.near) - row.mean.rest) * row.inverse * gamma[i] + beta[i];
  }
}

struct GradientSums {
  float g, g_xhat;
};

PARTITA_INLINE GradientSums SumGradients(const float* x, const float* dy, const float* gamma, int64_t n,
                                         const FloatRow& row) {
  const auto g = [=](int64_t i) { return gamma[i] * dy[i]; };
  const auto xhat = [=](int64_t i) { return ((x[i] - row.mean.near) - row.mean.rest) * row.inverse; };
  return {SumOver(n, g), SumOver(n, [&](int64_t i) { return g(i) * xhat(i); })};
}

PARTITA_TARGET_CLONES void GradientRow(const float* x, const float* dy, const float* gamma, float* dx,
                                       RowStatistics* stats, int64_t n, double epsilon) {
  const FloatRow row = StatisticsOf(x, n, epsilon);
  const GradientSums sums = SumGradients(x, dy, gamma, n, row);
  const auto count = static_cast<float>(n);
  const float mean_g = sums.g / count, mean_g_xhat = sums.g_xhat / count;
  PARTITA_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) {
    const float xhat = ((x[i] - row.mean.near) - row.mean.rest) * row.inverse;
    dx[i] = LayerNormGradient(gamma[i] * dy[i], xhat, row.inverse, mean_g, mean_g_xhat);
  }
  stats->mean = static_cast<double>(row.mean.near) + static_cast<double>(row.mean.rest);
  stats->inverse = static_cast<double>(row.inverse);
}

PARTITA_TARGET_CLONES void AddRow(const float* x, const float* dy, int64_t n, FloatRow row, float* products,
                                  float* sums) {
  PARTITA_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) {
    products[i] += dy[i] * (((x[i] - row.mean.near) - row.mean.rest) * row.inverse);
    sums[i] += dy[i];
  }
}

FloatRow InFloats(const RowStatistics& row) {
  const auto near = static_cast<float>(row.mean);
  return {{near, static_cast<float>(row.mean - static_cast<double>(near))}, static_cast<float>(row.inverse)};
}

}  // namespace

absl::StatusOr<PreparedKernel> FastLayerNorm(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const ChannelRows rows = MakeRows(InputShape(node, 0));
  return Prepared([rows, epsilon = node.attributes.Float("epsilon")](const KernelArguments& a) {
    ParallelFor(rows.rows, rows.elements() * kCostOfElement, [&](int64_t r) {
      const int64_t row = r * rows.channels;
      NormalizeRow(In<float>(a, 0) + row, In<float>(a, 1), In<float>(a, 2), Out<float>(a, 0) + row, rows.channels,
                   epsilon);
    });
  });
}

absl::StatusOr<PreparedKernel> FastLayerNormInputGrad(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const ChannelRows rows = MakeRows(InputShape(node, 0));
  return Prepared([rows, epsilon = node.attributes.Float("epsilon")](const KernelArguments& a) {
    ParallelFor(rows.rows, rows.elements() * 2 * kCostOfElement, [&](int64_t r) {
      const int64_t row = r * rows.channels;
      GradientRow(In<float>(a, 0) + row, In<float>(a, 1) + row, In<float>(a, 2), Out<float>(a, 0) + row,
                  Out<RowStatistics>(a, 1) + r, rows.channels, epsilon);
    });
  });
}

absl::StatusOr<PreparedKernel> FastLayerNormParameterGrad(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(Input(node, 0).dtype));
  const WideRows rows(MakeRows(InputShape(node, 0)));
  const auto compute = [rows](const KernelArguments& a) {
    rows.Reduce(
        Scratch<void>(a),
        [&](int64_t, int64_t begin, int64_t end, float* products, float* sums) {
          for (int64_t at = begin; at < end; at += rows.channels()) {
            const RowStatistics& row = In<RowStatistics>(a, 2)[at / rows.channels()];
            AddRow(In<float>(a, 0) + at, In<float>(a, 1) + at, rows.channels(), InFloats(row), products, sums);
          }
        },
        [&](int64_t, int64_t c, double products, double sum) {
          Out<float>(a, 0)[c] = static_cast<float>(products);
          Out<float>(a, 1)[c] = static_cast<float>(sum);
        });
  };
  return Prepared(compute, rows.reduction_bytes());
}

}  // namespace partita
