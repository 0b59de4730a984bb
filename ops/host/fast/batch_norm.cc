// Fast batch normalization, forward: one pass over x for the statistics, one for the result.
#include "ops/functors/batch_norm.h"

#include "ops/host/fast/batch_norm_table.h"
#include "ops/host/fast/fast_kernels.h"
#include "ops/host/kernel/target_clones.h"

namespace partita {
namespace {

// Adds d = x - shift and d^2 of a chunk to two wide rows. Some rows at a time: their differences from the first of
// them, which are small however large the mean is, are summed in float; what the first is away from the shift comes to
// that in double, once for all.
PARTITA_TARGET_CLONES void AddShifted(const float* x, int64_t elements, int64_t width, const float* shift, double* s1,
                                      double* s2) {
  constexpr int kRows = 8;
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

void NormalizeAll(const WideRows& rows, float* table, bool relu, const KernelArguments& a) {
  rows.ForChunks([&](int64_t g, int64_t begin, int64_t end) {
    const auto normalize = relu ? NormalizeRelu : Normalize;
    normalize(In<float>(a, 0) + begin, Out<float>(a, 0) + begin, end - begin, rows.width(),
              NormalizeRow(rows, table, kNormalizeKinds, g));
  });
}

}  // namespace

absl::StatusOr<PreparedKernel> FastBatchNormStatistics(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(Input(node, 0).dtype));
  const SampleGroups groups = MakeSampleGroups(Input(node, 0), node.attributes.Int("samples"));
  const WideRows rows(groups);
  const auto compute = [=](const KernelArguments& a) {
    const float *x = In<float>(a, 0), *shift = In<float>(a, 1);
    double* const stats = Out<double>(a, 0);
    float* const wide_shift = Scratch<float>(a);
    if (rows.width() > 0) std::copy(shift, shift + groups.channels, wide_shift);
    rows.Repeat(wide_shift);
    rows.Reduce<double>(
        Scratch<void>(a, rows.coefficient_bytes(1)),
        [&](int64_t, int64_t begin, int64_t end, double* s1, double* s2) {
          AddShifted(x + begin, end - begin, rows.width(), wide_shift, s1, s2);
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
  const auto compute = [=](const KernelArguments& a) {
    float* table = Scratch<float>(a);
    const BatchNormInputs inputs{In<double>(a, 1), In<float>(a, 2), In<float>(a, 3), In<float>(a, 4)};
    FillNormalizeTable(rows, groups.count, epsilon, inputs, kNormalizeKinds, table);
    NormalizeAll(rows, table, relu, a);
  };
  return Prepared(compute, rows.coefficient_bytes(kNormalizeKinds));
}

// (x, gamma, beta, running_mean, running_variance) -> y
absl::StatusOr<PreparedKernel> FastBatchNormInference(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const WideRows rows(MakeRows(InputShape(node, 0)));
  const double epsilon = node.attributes.Float("epsilon");
  const bool relu = node.attributes.Bool("relu");
  const auto compute = [=](const KernelArguments& a) {
    if (rows.width() == 0) return;
    const NormalizeRow k(rows, Scratch<float>(a), kNormalizeKinds, 0);
    for (int64_t c = 0; c < rows.channels(); ++c) {
      k.Set(c, MakeNormalizeCoefficients<float>(In<float>(a, 3)[c], In<float>(a, 4)[c], epsilon, In<float>(a, 1)[c],
                                                In<float>(a, 2)[c]));
    }
    k.Repeat(rows);
    NormalizeAll(rows, Scratch<float>(a), relu, a);
  };
  return Prepared(compute, rows.coefficient_bytes(kNormalizeKinds));
}

}  // namespace partita
