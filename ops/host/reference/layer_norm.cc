// Reference kernels of layer normalization. Outputs may lie at the address of an input.
#include "ops/functors/layer_norm.h"

#include "ops/host/reference/reference_kernels.h"
#include "ops/values/node_geometry.h"

namespace partita {
namespace {

// In two passes, in double.
template <typename T>
RowStatistics StatisticsOf(const T* x, int64_t n, double epsilon) {
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]);
  const double mean = sum / static_cast<double>(n);
  for (int64_t i = 0; i < n; ++i) {
    const double d = static_cast<double>(x[i]) - mean;
    squares += d * d;
  }
  return {mean, InverseDeviation(squares, static_cast<double>(n), epsilon)};
}

template <typename T>
double Normalized(T x, const RowStatistics& row) {
  return (static_cast<double>(x) - row.mean) * row.inverse;
}

}  // namespace

absl::StatusOr<PreparedKernel> ReferenceLayerNorm(const LocalNode& node) {
  const ChannelRows rows = MakeRows(InputShape(node, 0));
  const double epsilon = node.attributes.Float("epsilon");
  return PreparedFloating(node.outputs[0].dtype, [=]<typename T>(const KernelArguments& a) {
    for (int64_t r = 0; r < rows.rows; ++r) {
      const T* const x = In<T>(a, 0) + r * rows.channels;
      const RowStatistics row = StatisticsOf(x, rows.channels, epsilon);
      for (int64_t c = 0; c < rows.channels; ++c) {
        const double y =
            Normalized(x[c], row) * static_cast<double>(In<T>(a, 1)[c]) + static_cast<double>(In<T>(a, 2)[c]);
        Out<T>(a, 0)[r * rows.channels + c] = static_cast<T>(y);
      }
    }
  });
}

// (x, dy, gamma) -> dx, stats
absl::StatusOr<PreparedKernel> ReferenceLayerNormInputGrad(const LocalNode& node) {
  const ChannelRows rows = MakeRows(InputShape(node, 0));
  const double epsilon = node.attributes.Float("epsilon");
  return PreparedFloating(node.outputs[0].dtype, [=]<typename T>(const KernelArguments& a) {
    const auto count = static_cast<double>(rows.channels);
    for (int64_t r = 0; r < rows.rows; ++r) {
      const T *const x = In<T>(a, 0) + r * rows.channels, *const dy = In<T>(a, 1) + r * rows.channels;
      const auto g = [&](int64_t c) { return static_cast<double>(In<T>(a, 2)[c]) * static_cast<double>(dy[c]); };
      const RowStatistics row = StatisticsOf(x, rows.channels, epsilon);
      double sum = 0, products = 0;
      for (int64_t c = 0; c < rows.channels; ++c) {
        sum += g(c);
        products += g(c) * Normalized(x[c], row);
      }
      for (int64_t c = 0; c < rows.channels; ++c) {
        const double dx = LayerNormGradient(g(c), Normalized(x[c], row), row.inverse, sum / count, products / count);
        Out<T>(a, 0)[r * rows.channels + c] = static_cast<T>(dx);
      }
      Out<RowStatistics>(a, 1)[r] = row;
    }
  });
}

// (x, dy, stats) -> dgamma, dbeta
absl::StatusOr<PreparedKernel> ReferenceLayerNormParameterGrad(const LocalNode& node) {
  const ChannelRows rows = MakeRows(InputShape(node, 0));
  return PreparedFloating(node.outputs[0].dtype, [=]<typename T>(const KernelArguments& a) {
    for (int64_t c = 0; c < rows.channels; ++c) {
      double products = 0, sum = 0;
      for (int64_t r = 0; r < rows.rows; ++r) {
        const auto dy = static_cast<double>(In<T>(a, 1)[r * rows.channels + c]);
        products += dy * Normalized(In<T>(a, 0)[r * rows.channels + c], In<RowStatistics>(a, 2)[r]);
        sum += dy;
      }
      Out<T>(a, 0)[c] = static_cast<T>(products);
      Out<T>(a, 1)[c] = static_cast<T>(sum);
    }
  });
}

}  // namespace partita
