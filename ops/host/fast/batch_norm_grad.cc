// Fast gradients of batch normalization: one pass over (x, dy) for the sums, one for dx. The mask of a fused relu is
// computed again from x. Inputs begin with (x, dy, stats, shift, gamma, beta); stats and dstats are f64.
#include "ops/functors/batch_norm.h"
#include "ops/host/fast/batch_norm_table.h"
#include "ops/host/fast/fast_kernels.h"
#include "ops/host/fast/lanes.h"
#include "ops/host/kernel/column_rows.h"
#include "ops/host/kernel/target_clones.h"

namespace partita {
namespace {

// With what flows through the statistics; the number near x is the mean.
struct GradRow : NormalizeRow {
  static constexpr int kKinds = kNormalizeKinds + 2;
  GradRow(const WideRows& rows, float* table, int64_t g)
      : NormalizeRow(rows, table, kKinds, g),
        slope(rows.Coefficients(table, kKinds, g, 3)),
        offset(rows.Coefficients(table, kKinds, g, 4)) {}
  float *slope, *offset;
};

struct NodeInfo {
  explicit NodeInfo(const LocalNode& node)
      : groups(MakeSampleGroups(Input(node, 0), node.attributes.Int("samples"))),
        rows(groups),
        x_pitch(PitchOf(node, 0)),
        dy_pitch(PitchOf(node, 1)),
        dx_pitch(PitchOf(node, node.inputs.size())),
        epsilon(node.attributes.Float("epsilon")),
        relu(node.attributes.Bool("relu")) {}
  BatchNormInputs Inputs(const KernelArguments& a) const {
    return {In<double>(a, 2), In<float>(a, 3), In<float>(a, 4), In<float>(a, 5)};
  }
  ColumnRows<const float> X(const KernelArguments& a) const { return {In<float>(a, 0), x_pitch}; }
  ColumnRows<const float> Dy(const KernelArguments& a) const { return {In<float>(a, 1), dy_pitch}; }
  ColumnRows<float> Dx(const KernelArguments& a) const { return {Out<float>(a, 0), dx_pitch}; }  // of input gradients

  SampleGroups groups;
  WideRows rows;
  int64_t x_pitch, dy_pitch, dx_pitch;
  double epsilon;
  bool relu;
};

// What is fetched ahead, and how much of a row at a time: x lies in memory since the forward pass, and its rows are too
// short for the machine to see where they go on.
constexpr int64_t kAhead = 512, kSegment = 64, kLine = 16;

template <bool kRelu>
PARTITA_INLINE void AddGradientsLoop(const float* x, const float* dy, int64_t elements, int64_t width,
                                     const NormalizeRow& k, float* s1, float* s2) {
  for (int64_t done = 0; done < elements; done += width) {
    const int64_t length = elements - done < width ? elements - done : width;
    for (int64_t begin = 0; begin < length; begin += kSegment) {
      const int64_t end = length - begin < kSegment ? length : begin + kSegment;
      for (int64_t i = begin; i < end; i += kLine) {
        __builtin_prefetch(x + done + i + kAhead);
        __builtin_prefetch(dy + done + i + kAhead);
      }
      PARTITA_INDEPENDENT
      for (int64_t i = begin; i < end; ++i) {
        const float value = x[done + i];
        const float d = NormalizedCotangent(value, dy[done + i], k.mean[i], k.scale[i], k.beta[i], kRelu);
        s1[i] += d;
        s2[i] += d * (value - k.mean[i]);
      }
    }
  }
}

PARTITA_TARGET_CLONES void AddGradients(const float* x, const float* dy, int64_t elements, int64_t width,
                                        NormalizeRow k, float* s1, float* s2) {
  AddGradientsLoop<false>(x, dy, elements, width, k, s1, s2);
}

PARTITA_TARGET_CLONES void AddGradientsRelu(const float* x, const float* dy, int64_t elements, int64_t width,
                                            NormalizeRow k, float* s1, float* s2) {
  AddGradientsLoop<true>(x, dy, elements, width, k, s1, s2);
}

template <bool kRelu, bool kStatistics>
PARTITA_INLINE void InputGradLoop(const float* x, const float* dy, float* dx, int64_t elements, int64_t width,
                                  const GradRow& k) {
  for (int64_t done = 0; done < elements; done += width) {
    const int64_t length = elements - done < width ? elements - done : width;
    PARTITA_INDEPENDENT
    for (int64_t i = 0; i < length; ++i) {
      const float value = x[done + i];
      const float d = NormalizedCotangent(value, dy[done + i], k.mean[i], k.scale[i], k.beta[i], kRelu) * k.scale[i];
      dx[done + i] = kStatistics ? d + StatisticsGradElement(value, k.mean[i], k.slope[i], k.offset[i]) : d;
    }
  }
}

PARTITA_TARGET_CLONES void InputGrad(const float* x, const float* dy, float* dx, int64_t elements, int64_t width,
                                     GradRow k) {
  InputGradLoop<false, true>(x, dy, dx, elements, width, k);
}

PARTITA_TARGET_CLONES void InputGradRelu(const float* x, const float* dy, float* dx, int64_t elements, int64_t width,
                                         GradRow k) {
  InputGradLoop<true, true>(x, dy, dx, elements, width, k);
}

PARTITA_TARGET_CLONES void NormalizeInputGrad(const float* x, const float* dy, float* dx, int64_t elements,
                                              int64_t width, GradRow k) {
  InputGradLoop<false, false>(x, dy, dx, elements, width, k);
}

PARTITA_TARGET_CLONES void NormalizeInputGradRelu(const float* x, const float* dy, float* dx, int64_t elements,
                                                  int64_t width, GradRow k) {
  InputGradLoop<true, false>(x, dy, dx, elements, width, k);
}

PARTITA_TARGET_CLONES void StatisticsGrad(const float* x, float* dx, int64_t elements, int64_t width, const float* near,
                                          const float* slope, const float* offset) {
  for (int64_t done = 0; done < elements; done += width) {
    const int64_t length = elements - done < width ? elements - done : width;
    PARTITA_INDEPENDENT
    for (int64_t i = 0; i < length; ++i) {
      dx[done + i] = StatisticsGradElement(x[done + i], near[i], slope[i], offset[i]);
    }
  }
}

template <typename Loop>
void ForInputGrad(const NodeInfo& info, float* table, const Loop& loop, const KernelArguments& a) {
  info.rows.ForChunks([&](int64_t g, int64_t begin, int64_t end) {
    const GradRow k(info.rows, table, g);
    const auto grad = [&](int64_t n, const float* x, const float* dy, float* dx) {
      loop(x, dy, dx, n, info.rows.width(), k);
    };
    info.rows.ForDense(begin, end, grad, info.X(a), info.Dy(a), info.Dx(a));
  });
}

void FillStatisticsPart(const WideRows& rows, const float* shift, const double* dstats, float* table) {
  if (rows.width() == 0) return;
  for (int64_t g = 0; g < rows.groups(); ++g) {
    const GradRow k(rows, table, g);
    const double* d = dstats + 2 * g * rows.channels();
    for (int64_t c = 0; c < rows.channels(); ++c) {
      const auto s = MakeStatisticsGradCoefficients(k.mean[c], shift[c], d[c], d[rows.channels() + c]);
      k.slope[c] = s.slope;
      k.offset[c] = s.offset;
    }
    rows.Repeat(k.slope);
    rows.Repeat(k.offset);
  }
}

}  // namespace

// -> dstats, dgamma, dbeta
absl::StatusOr<PreparedKernel> FastBatchNormGradientSums(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(Input(node, 0).dtype));
  RETURN_IF_ERROR(RequireNarrowColumns(node));
  const NodeInfo info(node);
  const int64_t sums_at = info.rows.coefficient_bytes(kNormalizeKinds);
  const int64_t totals_at = sums_at + info.rows.reduction_bytes();
  const auto compute = [=](const KernelArguments& a) {
    const int64_t channels = info.groups.channels;
    const BatchNormInputs inputs = info.Inputs(a);
    float* const table = Scratch<float>(a);
    double* const dstats = Out<double>(a, 0);
    double* totals = Scratch<double>(a, totals_at);  // dgamma, then dbeta, over all groups
    std::fill(totals, totals + 2 * channels, 0.0);
    FillNormalizeTable(info.rows, info.groups.count, info.epsilon, inputs, kNormalizeKinds, table);
    const auto add = info.relu ? AddGradientsRelu : AddGradients;
    info.rows.Reduce(
        Scratch<void>(a, sums_at),
        [&](int64_t g, int64_t begin, int64_t end, float* s1, float* s2) {
          const NormalizeRow k(info.rows, table, kNormalizeKinds, g);
          const auto sum = [&](int64_t n, const float* x, const float* dy) {
            add(x, dy, n, info.rows.width(), k, s1, s2);
          };
          info.rows.ForDense(begin, end, sum, info.X(a), info.Dy(a));
        },
        [&](int64_t g, int64_t c, double sum, double product) {
          const BatchMoments moments = inputs.Moments(info.rows, g, c, info.groups.count);
          const double rounded = NormalizeRow(info.rows, table, kNormalizeKinds, g).mean[c];  // of the products
          const double about_mean = product + (rounded - (moments.shifted_mean + inputs.shift[c])) * sum;
          const BatchNormGradient d =
              MakeBatchNormGradient(sum, about_mean, moments, info.groups.count, info.epsilon, inputs.gamma[c]);
          dstats[2 * g * channels + c] = d.ds1;
          dstats[(2 * g + 1) * channels + c] = d.ds2;
          totals[c] += d.dgamma;
          totals[channels + c] += d.dbeta;
        });
    for (int64_t c = 0; c < channels; ++c) {
      Out<float>(a, 1)[c] = static_cast<float>(totals[c]);
      Out<float>(a, 2)[c] = static_cast<float>(totals[channels + c]);
    }
  };
  return Prepared(compute, totals_at + 2 * info.groups.channels * static_cast<int64_t>(sizeof(double)));
}

absl::StatusOr<PreparedKernel> FastBatchNormNormalizeInputGrad(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  RETURN_IF_ERROR(RequireNarrowColumns(node));
  const NodeInfo info(node);
  const auto compute = [=](const KernelArguments& a) {
    float* table = Scratch<float>(a);
    FillNormalizeTable(info.rows, info.groups.count, info.epsilon, info.Inputs(a), GradRow::kKinds, table);
    ForInputGrad(info, table, info.relu ? NormalizeInputGradRelu : NormalizeInputGrad, a);
  };
  return Prepared(compute, info.rows.coefficient_bytes(GradRow::kKinds));
}

// (x, dy, stats, shift, gamma, beta, dstats) -> dx
absl::StatusOr<PreparedKernel> FastBatchNormInputGrad(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  RETURN_IF_ERROR(RequireNarrowColumns(node));
  const NodeInfo info(node);
  const auto compute = [=](const KernelArguments& a) {
    float* table = Scratch<float>(a);
    const BatchNormInputs inputs = info.Inputs(a);
    FillNormalizeTable(info.rows, info.groups.count, info.epsilon, inputs, GradRow::kKinds, table);
    FillStatisticsPart(info.rows, inputs.shift, In<double>(a, 6), table);
    ForInputGrad(info, table, info.relu ? InputGradRelu : InputGrad, a);
  };
  return Prepared(compute, info.rows.coefficient_bytes(GradRow::kKinds));
}

// (x, shift, dstats) -> dx. The number near x is the group's first element of the channel.
absl::StatusOr<PreparedKernel> FastBatchNormStatisticsGrad(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  RETURN_IF_ERROR(RequireNarrowColumns(node));
  const SampleGroups groups = MakeSampleGroups(Input(node, 0), node.attributes.Int("samples"));
  const WideRows rows(groups);
  constexpr int kKinds = 3;
  const int64_t x_pitch = PitchOf(node, 0), dx_pitch = PitchOf(node, node.inputs.size());
  const auto compute = [=](const KernelArguments& a) {
    float* table = Scratch<float>(a);
    const ColumnRows<const float> from{In<float>(a, 0), x_pitch};
    const ColumnRows<float> to{Out<float>(a, 0), dx_pitch};
    const int64_t row = x_pitch > 0 ? x_pitch : groups.channels;
    for (int64_t g = 0; g < (rows.width() > 0 ? rows.groups() : 0); ++g) {
      const float* first = from.first + g * groups.rows_per_group * row;
      const double* d = In<double>(a, 2) + 2 * g * groups.channels;
      float* const coefficients[kKinds] = {rows.Coefficients(table, kKinds, g, 0),
                                           rows.Coefficients(table, kKinds, g, 1),
                                           rows.Coefficients(table, kKinds, g, 2)};
      for (int64_t c = 0; c < groups.channels; ++c) {
        const auto s = MakeStatisticsGradCoefficients(first[c], In<float>(a, 1)[c], d[c], d[groups.channels + c]);
        coefficients[0][c] = s.near;
        coefficients[1][c] = s.slope;
        coefficients[2][c] = s.offset;
      }
      for (float* const wide : coefficients) rows.Repeat(wide);
    }
    rows.ForChunks([&](int64_t g, int64_t begin, int64_t end) {
      const auto grad = [&](int64_t n, const float* x, float* dx) {
        StatisticsGrad(x, dx, n, rows.width(), rows.Coefficients(table, kKinds, g, 0),
                       rows.Coefficients(table, kKinds, g, 1), rows.Coefficients(table, kKinds, g, 2));
      };
      rows.ForDense(begin, end, grad, from, to);
    });
  };
  return Prepared(compute, rows.coefficient_bytes(kKinds));
}

}  // namespace partita
