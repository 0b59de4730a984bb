#include "ops/cuda/launch/batch_norm.h"
#include "ops/cuda/loops/batch_norm_tables.h"
#include "ops/cuda/loops/column_sums.h"

namespace partita::launch {
namespace {

// sum(dy) and sum(dy (x - mean)), dy being the cotangent behind the fused relu.
template <typename T>
struct CotangentTerm {
  const T *x, *dy;
  ChannelInputs<Compute<T>> in;
  int64_t rows;
  bool relu;

  struct Column {
    const T *x, *dy;
    int64_t channels;
    NormalizeCoefficients<Compute<T>> k;
    double mean;
    bool relu;
    PARTITA_HOST_DEVICE void operator()(int64_t row, double* sums) const {
      const auto value = static_cast<Compute<T>>(x[row * channels]);
      const double d =
          NormalizedCotangent(value, static_cast<Compute<T>>(dy[row * channels]), k.mean, k.scale, k.beta, relu);
      sums[0] += d;
      sums[1] += d * (static_cast<double>(value) - mean);
    }
  };
  PARTITA_HOST_DEVICE Column At(int64_t group, int64_t c) const {
    const int64_t first = group * rows * in.channels + c;
    const BatchMoments moments = in.Moments(group, c);
    return {x + first, dy + first, in.channels, in.Coefficients(moments, c), moments.shifted_mean + in.shift[c], relu};
  }
};

// [groups][channels]
struct TotalsFinish {
  Sums<2>* totals;
  int64_t channels;
  PARTITA_HOST_DEVICE void operator()(int64_t group, int64_t c, const Sums<2>& sums) const {
    totals[group * channels + c] = sums;
  }
};

// One channel: the gradients of its groups in order.
template <typename A>
struct GradientSumsBody {
  int64_t groups;
  const Sums<2>* totals;
  ChannelInputs<A> in;
  double* dstats;
  A *dgamma, *dbeta;

  PARTITA_HOST_DEVICE void operator()(int64_t c) const {
    double gamma_sum = 0, beta_sum = 0;
    for (int64_t group = 0; group < groups; ++group) {
      const Sums<2> sums = totals[group * in.channels + c];
      const BatchNormGradient d =
          MakeBatchNormGradient(sums.at[0], sums.at[1], in.Moments(group, c), in.count, in.epsilon, in.gamma[c]);
      dstats[2 * group * in.channels + c] = d.ds1;
      dstats[(2 * group + 1) * in.channels + c] = d.ds2;
      gamma_sum += d.dgamma;
      beta_sum += d.dbeta;
    }
    dgamma[c] = static_cast<A>(gamma_sum);
    dbeta[c] = static_cast<A>(beta_sum);
  }
};

template <typename A>
struct InputGradTableBody {
  ChannelInputs<A> in;
  const double* dstats;
  InputGradCoefficients<A>* table;
  PARTITA_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t group = i / in.channels, c = i % in.channels;
    const double* d = dstats + 2 * group * in.channels;
    const NormalizeCoefficients<A> k = in.Coefficients(in.Moments(group, c), c);
    const auto s = MakeStatisticsGradCoefficients(k.mean, in.shift[c], d[c], d[in.channels + c]);
    table[i] = {k, s.slope, s.offset};
  }
};

template <typename A>
struct NormalizeInputGradElement {
  const NormalizeCoefficients<A>* table;
  int64_t rows_per_group, channels;
  bool relu;
  PARTITA_HOST_DEVICE void operator()(RowChannel place, const A* in, A* dx) const {
    const NormalizeCoefficients<A> k = table[place.row / rows_per_group * channels + place.channel];
    dx[0] = NormalizedCotangent(in[0], in[1], k.mean, k.scale, k.beta, relu) * k.scale;
  }
};

template <typename A>
struct InputGradElement {
  const InputGradCoefficients<A>* table;
  int64_t rows_per_group, channels;
  bool relu;
  PARTITA_HOST_DEVICE void operator()(RowChannel place, const A* in, A* dx) const {
    const InputGradCoefficients<A> c = table[place.row / rows_per_group * channels + place.channel];
    dx[0] = NormalizedCotangent(in[0], in[1], c.k.mean, c.k.scale, c.k.beta, relu) * c.k.scale +
            StatisticsGradElement(in[0], c.k.mean, c.slope, c.offset);
  }
};

template <typename A>
struct StatisticsGradElementwise {
  const A* shift;
  const double* dstats;
  int64_t rows_per_group, channels;
  PARTITA_HOST_DEVICE void operator()(RowChannel place, const A* in, A* dx) const {
    const double* d = dstats + 2 * (place.row / rows_per_group) * channels;
    const double from_shift = static_cast<double>(in[0]) - static_cast<double>(shift[place.channel]);
    dx[0] = static_cast<A>(d[place.channel] + 2 * from_shift * d[channels + place.channel]);
  }
};

}  // namespace

LaunchError BatchNormGradientSums(DType dtype, const BatchNormLaunch& node, double* dstats, void* dgamma, void* dbeta,
                                  void* workspace, CudaQueue queue) {
  const ColumnChunks chunks = ChunksOf(node.groups);
  double* const partial = As<double>(workspace);
  return WithFloating(dtype, [&]<typename T>() {
    using A = Compute<T>;
    const ChannelInputs<A> in = ChannelInputsOf<A>(node);
    const CotangentTerm<T> term{As<T>(node.x), As<T>(node.dy), in, chunks.rows, node.relu};
    if (const LaunchError error = SumColumns<2>(chunks, term, partial, queue); error != kLaunched) return error;
    auto* const totals = reinterpret_cast<Sums<2>*>(partial + chunks.partial_bytes(2) / int64_t{sizeof(double)});
    const LaunchError error = FinishColumns<2>(chunks, TotalsFinish{totals, chunks.channels}, partial, queue);
    if (error != kLaunched) return error;
    const GradientSumsBody<A> body{chunks.groups, totals, in, dstats, As<A>(dgamma), As<A>(dbeta)};
    return ForEach(chunks.channels, body, queue);
  });
}

LaunchError BatchNormNormalizeInputGrad(DType dtype, const BatchNormLaunch& node, void* dx, void* workspace,
                                        CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    using A = Compute<T>;
    if (const LaunchError error = MakeCoefficients<A>(node, workspace, queue); error != kLaunched) return error;
    const NormalizeInputGradElement<A> element{As<NormalizeCoefficients<A>>(workspace), node.groups.rows_per_group,
                                               node.groups.channels, node.relu};
    return ForElements<T>({As<T>(node.x), As<T>(node.dy)}, {As<T>(dx)}, RowsOf(node.groups), element, queue);
  });
}

LaunchError BatchNormInputGrad(DType dtype, const BatchNormLaunch& node, void* dx, void* workspace, CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    using A = Compute<T>;
    auto* const table = As<InputGradCoefficients<A>>(workspace);
    const InputGradTableBody<A> make{ChannelInputsOf<A>(node), node.dstats, table};
    const LaunchError error = ForEach(node.groups.groups * node.groups.channels, make, queue);
    if (error != kLaunched) return error;
    const InputGradElement<A> element{table, node.groups.rows_per_group, node.groups.channels, node.relu};
    return ForElements<T>({As<T>(node.x), As<T>(node.dy)}, {As<T>(dx)}, RowsOf(node.groups), element, queue);
  });
}

LaunchError BatchNormStatisticsGrad(DType dtype, const BatchNormLaunch& node, void* dx, CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    using A = Compute<T>;
    const StatisticsGradElementwise<A> element{As<A>(node.shift), node.dstats, node.groups.rows_per_group,
                                               node.groups.channels};
    return ForElements<T>({As<T>(node.x)}, {As<T>(dx)}, RowsOf(node.groups), element, queue);
  });
}

}  // namespace partita::launch
