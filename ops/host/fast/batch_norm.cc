// Fast batch normalization, forward: one pass over x for the statistics, one for the result.
#include "ops/functors/batch_norm.h"

#include "ops/host/fast/batch_norm_table.h"
#include "ops/host/fast/fast_kernels.h"
#include "ops/host/fast/lanes.h"
#include "ops/host/kernel/column_rows.h"
#include "ops/host/kernel/target_clones.h"

namespace partita {
namespace {

// Adds d = x - shift and d^2 of a chunk to two wide rows. Some rows at a time: their differences from the first of
// them, which are small however large the mean is, are summed in float; what the first is away from the shift comes to
// that in double, once for all.
PARTITA_TARGET_CLONES void AddShifted(const float* x, int64_t elements, int64_t width, const float* shift, double* s1,
                                      double* s2) {
  constexpr int kRows = 8;
  static_assert(kWideRowsOfPiece % kRows == 0);
  int64_t done = 0;
  for (; done + kRows * width <= elements; done += kRows * width) {
    const float* row = x + done;
    PARTITA_INDEPENDENT
    for (int64_t i = 0; i < width; ++i) {
      float sum = 0, squares = 0;
#pragma GCC unroll kRows
      for (int r = 1; r < kRows; ++r) {
        const float d = row[r * width + i] - row[i];
        sum += d;
        squares += d * d;
      }
      const double away = static_cast<double>(row[i]) - static_cast<double>(shift[i]);
      s1[i] += kRows * away + sum;
      s2[i] += (kRows * away + 2.0 * sum) * away + squares;
    }
  }
  for (; done < elements; done += width) {
    const int64_t length = elements - done < width ? elements - done : width;
    PARTITA_INDEPENDENT
    for (int64_t i = 0; i < length; ++i) {
      const double d = static_cast<double>(x[done + i]) - static_cast<double>(shift[i]);
      s1[i] += d;
      s2[i] += d * d;
    }
  }
}

PARTITA_TARGET_CLONES void Normalize(const float* x, float* y, int64_t elements, int64_t width, NormalizeRow k) {
  for (int64_t done = 0; done < elements; done += width) {
    const int64_t length = elements - done < width ? elements - done : width;
    PARTITA_INDEPENDENT
    for (int64_t i = 0; i < length; ++i) y[done + i] = NormalizeElement(x[done + i], k.mean[i], k.scale[i], k.beta[i]);
  }
}

PARTITA_TARGET_CLONES void NormalizeRelu(const float* x, float* y, int64_t elements, int64_t width, NormalizeRow k) {
  for (int64_t done = 0; done < elements; done += width) {
    const int64_t length = elements - done < width ? elements - done : width;
    PARTITA_INDEPENDENT
    for (int64_t i = 0; i < length; ++i) {
      y[done + i] = Relu::Value(NormalizeElement(x[done + i], k.mean[i], k.scale[i], k.beta[i]));
    }
  }
}

// Of rows that are columns of wider ones, one by one where they lie: y is written while the next row is computed. Lanes
// of a constant number, because rows are short.
template <bool kRelu>
PARTITA_INLINE void NormalizeRows(const float* x, int64_t x_pitch, float* y, int64_t y_pitch, int64_t rows,
                                  int64_t channels, const NormalizeRow& k) {
  constexpr int64_t kLanes = 8;
  const auto element = [&](int64_t c) __attribute__((always_inline)) {
    const float value = NormalizeElement(x[c], k.mean[c], k.scale[c], k.beta[c]);
    return kRelu ? Relu::Value(value) : value;
  };
  for (int64_t r = 0; r < rows; ++r, x += x_pitch, y += y_pitch) {
    int64_t c = 0;
    for (; c + kLanes <= channels; c += kLanes) {
      PARTITA_INDEPENDENT
      for (int64_t l = 0; l < kLanes; ++l) y[c + l] = element(c + l);
    }
    for (; c < channels; ++c) y[c] = element(c);
  }
}

PARTITA_TARGET_CLONES void NormalizeColumns(const float* x, int64_t x_pitch, float* y, int64_t y_pitch, int64_t rows,
                                            int64_t channels, NormalizeRow k, bool relu) {
  if (relu) {
    NormalizeRows<true>(x, x_pitch, y, y_pitch, rows, channels, k);
  } else {
    NormalizeRows<false>(x, x_pitch, y, y_pitch, rows, channels, k);
  }
}

// Where x and y lie; 0: dense.
struct Pitches {
  explicit Pitches(const LocalNode& node) : x(PitchOf(node, 0)), y(PitchOf(node, node.inputs.size())) {}
  int64_t x, y;
};

void NormalizeAll(const WideRows& rows, const Pitches& pitches, float* table, bool relu, const KernelArguments& a) {
  const float* const x = In<float>(a, 0);
  float* const y = Out<float>(a, 0);
  const int64_t channels = rows.channels();
  const int64_t x_pitch = pitches.x > 0 ? pitches.x : channels, y_pitch = pitches.y > 0 ? pitches.y : channels;
  rows.ForChunks([&](int64_t g, int64_t begin, int64_t end) {
    const NormalizeRow k(rows, table, kNormalizeKinds, g);
    if (x_pitch == channels && y_pitch == channels) {
      return (relu ? NormalizeRelu : Normalize)(x + begin, y + begin, end - begin, rows.width(), k);
    }
    const int64_t first = begin / channels;
    NormalizeColumns(x + first * x_pitch, x_pitch, y + first * y_pitch, y_pitch, (end - begin) / channels, channels, k,
                     relu);
  });
}

}  // namespace

absl::StatusOr<PreparedKernel> FastBatchNormStatistics(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(Input(node, 0).dtype));
  RETURN_IF_ERROR(RequireNarrowColumns(node));
  const SampleGroups groups = MakeSampleGroups(Input(node, 0), node.attributes.Int("samples"));
  const WideRows rows(groups);
  const auto compute = [=, pitch = PitchOf(node, 0)](const KernelArguments& a) {
    const float* const shift = In<float>(a, 1);
    double* const stats = Out<double>(a, 0);
    float* const wide_shift = Scratch<float>(a);
    if (rows.width() > 0) std::copy(shift, shift + groups.channels, wide_shift);
    rows.Repeat(wide_shift);
    rows.Reduce<double>(
        Scratch<void>(a, rows.coefficient_bytes(1)),
        [&](int64_t, int64_t begin, int64_t end, double* s1, double* s2) {
          const auto add = [&](int64_t n, const float* x) { AddShifted(x, n, rows.width(), wide_shift, s1, s2); };
          rows.ForDense(begin, end, add, ColumnRows<const float>{In<float>(a, 0), pitch});
        },
        [&](int64_t g, int64_t c, double s1, double s2) {
          stats[2 * g * groups.channels + c] = s1;
          stats[(2 * g + 1) * groups.channels + c] = s2;
        });
  };
  return Prepared(compute, rows.coefficient_bytes(1) + rows.reduction_bytes<double>());
}

absl::StatusOr<PreparedKernel> FastBatchNormNormalize(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const SampleGroups groups = MakeSampleGroups(Input(node, 0), node.attributes.Int("samples"));
  const WideRows rows(groups);
  const double epsilon = node.attributes.Float("epsilon");
  const bool relu = node.attributes.Bool("relu");
  const auto compute = [=, pitches = Pitches(node)](const KernelArguments& a) {
    float* table = Scratch<float>(a);
    const BatchNormInputs inputs{In<double>(a, 1), In<float>(a, 2), In<float>(a, 3), In<float>(a, 4)};
    FillNormalizeTable(rows, groups.count, epsilon, inputs, kNormalizeKinds, table);
    NormalizeAll(rows, pitches, table, relu, a);
  };
  return Prepared(compute, rows.coefficient_bytes(kNormalizeKinds));
}

// (x, gamma, beta, running_mean, running_variance) -> y
absl::StatusOr<PreparedKernel> FastBatchNormInference(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const WideRows rows(MakeRows(InputShape(node, 0)));
  const double epsilon = node.attributes.Float("epsilon");
  const bool relu = node.attributes.Bool("relu");
  const auto compute = [=, pitches = Pitches(node)](const KernelArguments& a) {
    if (rows.width() == 0) return;
    const NormalizeRow k(rows, Scratch<float>(a), kNormalizeKinds, 0);
    for (int64_t c = 0; c < rows.channels(); ++c) {
      k.Set(c, MakeNormalizeCoefficients<float>(In<float>(a, 3)[c], In<float>(a, 4)[c], epsilon, In<float>(a, 1)[c],
                                                In<float>(a, 2)[c]));
    }
    k.Repeat(rows);
    NormalizeAll(rows, pitches, Scratch<float>(a), relu, a);
  };
  return Prepared(compute, rows.coefficient_bytes(kNormalizeKinds));
}

}  // namespace partita
