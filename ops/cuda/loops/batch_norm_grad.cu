#include "ops/cuda/launch/batch_norm.h"
#include "ops/cuda/loops/batch_norm_rows.h"
#include "ops/cuda/loops/column_sums.h"
#include "ops/cuda/loops/kept_rows.h"

namespace partita::launch {
namespace {

// sum(dy) and sum(dy (x - mean)), dy being the cotangent behind the fused relu. Rows take the mean as it is rounded for
// the coefficients, so that no second one lies in registers.
template <typename A>
PARTITA_HOST_DEVICE void AddCotangent(const NormalizeCoefficients<A>& k, A x, A dy, bool relu, Sums<2>& sums) {
  const double d = NormalizedCotangent(x, dy, k.mean, k.scale, k.beta, relu);
  sums.at[0] += d;
  sums.at[1] += d * (static_cast<double>(x) - static_cast<double>(k.mean));
}

// What these sums give to the gradients.
template <typename A>
PARTITA_HOST_DEVICE BatchNormGradient GradientOf(const ChannelInputs<A>& channels, int64_t group, int64_t c,
                                                 const Sums<2>& sums) {
  const BatchMoments moments = channels.Moments(group, c);
  const double mean = moments.shifted_mean + channels.shift[c];
  const double b = sums.at[1] - sums.at[0] * (mean - static_cast<A>(mean));
  return MakeBatchNormGradient(sums.at[0], b, moments, channels.count, channels.epsilon, channels.gamma[c]);
}

// kMasks: dy is what a relu lets through, and is stored on the way.
template <typename T, bool kMasks>
struct GradientSums {
  using A = Compute<T>;
  static constexpr int kSums = 2, kBlocksTogether = sizeof(A) == 8 || kMasks ? 2 : 4;
  static constexpr bool kOverGroups = true;
  using Entry = NormalizeCoefficients<A>;
  ColumnChunks chunks;
  PitchedRows<const T> in[kMasks ? 3 : 2];  // x, dy, y of the relu
  PitchedRows<T> masked;
  bool packed;
  ChannelInputs<A> channels;
  bool relu;
  double* dstats;
  A *dgamma, *dbeta;

  PARTITA_HOST_DEVICE Entry Make(int64_t group, int64_t c) const {
    return channels.Coefficients(channels.Moments(group, c), c);
  }

  PARTITA_HOST_DEVICE void Add(const ThreadPlace& place, const Entry* entries, Sums<2>* sums) const {
    if (packed) {
      Rows<true>(place, entries, sums);
    } else {
      Rows<false>(place, entries, sums);
    }
  }

  PARTITA_HOST_DEVICE void Finish(int64_t group, int64_t c, const Sums<2>& sums) const {
    const BatchNormGradient d = GradientOf(channels, group, c, sums);
    dstats[2 * group * chunks.channels + c] = d.ds1;
    dstats[(2 * group + 1) * chunks.channels + c] = d.ds2;
    if (chunks.groups > 1) return;
    dgamma[c] = static_cast<A>(d.dgamma);
    dbeta[c] = static_cast<A>(d.dbeta);
  }

  // The gradients of the groups, in order.
  template <typename OfGroup>
  PARTITA_HOST_DEVICE void FinishGroups(int64_t c, const OfGroup& of_group) const {
    double gamma_sum = 0, beta_sum = 0;
    for (int64_t group = 0; group < chunks.groups; ++group) {
      const BatchNormGradient d = GradientOf(channels, group, c, of_group(group));
      gamma_sum += d.dgamma;
      beta_sum += d.dbeta;
    }
    dgamma[c] = static_cast<A>(gamma_sum);
    dbeta[c] = static_cast<A>(beta_sum);
  }

 private:
  template <bool kPacked>
  PARTITA_HOST_DEVICE void Rows(const ThreadPlace& place, const Entry* entries, Sums<2>* sums) const {
    Entry own[kChannelsOfThread];
    for (int w = 0; w < kChannelsOfThread; ++w) own[w] = entries[w];
    Column<T> to{};
    if constexpr (kMasks) to = ColumnOf(masked, place);
    // Two rows at once would need more than the 64 registers that let four blocks run at once; of three tensors not
    // even one row fits those, so two blocks take two.
    ForRows<kPacked, kMasks && sizeof(A) == 4 ? 2 : 1>(in, place, [&](const auto& at) {
      Channels<T> dy = at[1];
      if constexpr (kMasks) dy = StoreBehindRelu<kPacked>(at[1], at[2], place.count, to);
      for (int w = 0; w < kChannelsOfThread; ++w) {
        AddCotangent(own[w], static_cast<A>(at[0].at[w]), static_cast<A>(dy.at[w]), relu, sums[w]);
      }
    });
  }
};

template <typename A>
struct NormalizeInputGradElement {
  using Entry = NormalizeCoefficients<A>;
  ChannelInputs<A> channels;
  bool relu;
  PARTITA_HOST_DEVICE Entry Make(int64_t group, int64_t c) const {
    return channels.Coefficients(channels.Moments(group, c), c);
  }
  PARTITA_HOST_DEVICE A operator()(const Entry& k, const A* in) const {
    return NormalizedCotangent(in[0], in[1], k.mean, k.scale, k.beta, relu) * k.scale;
  }
};

// What flows through the statistics beside the coefficients; the number near x is the mean.
template <typename A>
struct InputGradCoefficients {
  NormalizeCoefficients<A> k;
  A slope, offset;
};

template <typename A>
PARTITA_HOST_DEVICE InputGradCoefficients<A> MakeInputGrad(const ChannelInputs<A>& channels, int64_t group, int64_t c,
                                                           double ds1, double ds2) {
  const NormalizeCoefficients<A> k = channels.Coefficients(channels.Moments(group, c), c);
  const auto s = MakeStatisticsGradCoefficients(k.mean, channels.shift[c], ds1, ds2);
  return {k, s.slope, s.offset};
}

template <typename A>
PARTITA_HOST_DEVICE A InputGradOf(const InputGradCoefficients<A>& c, A x, A dy, bool relu) {
  return NormalizedCotangent(x, dy, c.k.mean, c.k.scale, c.k.beta, relu) * c.k.scale +
         StatisticsGradElement(x, c.k.mean, c.slope, c.offset);
}

template <typename A>
struct InputGradElement {
  using Entry = InputGradCoefficients<A>;
  ChannelInputs<A> channels;
  const double* dstats;
  bool relu;
  PARTITA_HOST_DEVICE Entry Make(int64_t group, int64_t c) const {
    const double* d = dstats + 2 * group * channels.channels;
    return MakeInputGrad(channels, group, c, d[c], d[channels.channels + c]);
  }
  PARTITA_HOST_DEVICE A operator()(const Entry& c, const A* in) const { return InputGradOf(c, in[0], in[1], relu); }
};

// The gradients of the parameters and of x; kMasks as in GradientSums.
template <typename T, bool kMasks>
struct SmallBackward : KeptBatchNorm<T, 2> {
  static constexpr bool kAlters = kMasks;
  using A = Compute<T>;
  using Entry = NormalizeCoefficients<A>;
  using Factors = InputGradCoefficients<A>;
  struct Total {
    double gamma = 0, beta = 0;
  };
  ChannelInputs<A> inputs;
  bool relu;
  PitchedRows<const T> beside;  // y of the relu
  PitchedRows<T> altered;       // dy that it lets through
  A *dgamma, *dbeta;

  SmallBackward(const BatchNormLaunch& node, void* dx, void* gamma, void* beta)
      : KeptBatchNorm<T, 2>(node, {XOf<T>(node), DyOf<T>(node)}, dx),
        inputs(ChannelInputsOf<A>(node)),
        relu(node.relu),
        dgamma(As<A>(gamma)),
        dbeta(As<A>(beta)) {
    if constexpr (kMasks) {
      beside = ReluOf<T>(node);
      altered = MaskedOf<T>(node);
      this->packed = this->packed && beside.packed(this->channels) && altered.packed(this->channels);
    }
  }

  PARTITA_HOST_DEVICE static A Altered(A dy, A y) { return Relu::Gradient(dy, y); }
  PARTITA_HOST_DEVICE Entry Make(int64_t group, int64_t c) const {
    return inputs.Coefficients(inputs.Moments(group, c), c);
  }
  PARTITA_HOST_DEVICE void Add(const Entry& k, const A* in, Sums<2>& sums) const {
    AddCotangent(k, in[0], in[1], relu, sums);
  }
  PARTITA_HOST_DEVICE Factors Finish(int64_t group, int64_t c, const Sums<2>& sums, Total& total) const {
    const BatchNormGradient d = GradientOf(inputs, group, c, sums);
    total.gamma += d.dgamma;
    total.beta += d.dbeta;
    return MakeInputGrad(inputs, group, c, d.ds1, d.ds2);
  }
  PARTITA_HOST_DEVICE void Store(int64_t c, const Total& total) const {
    dgamma[c] = static_cast<A>(total.gamma);
    dbeta[c] = static_cast<A>(total.beta);
  }
  PARTITA_HOST_DEVICE A Value(const Factors& k, const A* in) const { return InputGradOf(k, in[0], in[1], relu); }
};

template <typename A>
struct StatisticsGradElementwise {
  struct Entry {
    double shift, ds1, ds2;
  };
  const A* shift;
  const double* dstats;
  int64_t channels;
  PARTITA_HOST_DEVICE Entry Make(int64_t group, int64_t c) const {
    const double* d = dstats + 2 * group * channels;
    return {static_cast<double>(shift[c]), d[c], d[channels + c]};
  }
  PARTITA_HOST_DEVICE A operator()(const Entry& k, const A* x) const {
    return static_cast<A>(k.ds1 + 2 * (static_cast<double>(x[0]) - k.shift) * k.ds2);
  }
};

}  // namespace

LaunchError BatchNormGradientSums(DType dtype, const BatchNormLaunch& node, double* dstats, void* dgamma, void* dbeta,
                                  const SumScratch& scratch, CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    using A = Compute<T>;
    const int64_t channels = node.groups.channels;
    if (node.groups.groups == 0) {  // of no samples: nobody is there to write the sums
      const int64_t bytes = channels * int64_t{sizeof(A)};
      const LaunchError error = ZeroBytes(dgamma, bytes, queue);
      return error != kLaunched ? error : ZeroBytes(dbeta, bytes, queue);
    }
    const PitchedRows<const T> x = XOf<T>(node), dy = DyOf<T>(node);
    const bool packed = x.packed(channels) && dy.packed(channels);
    const ChannelInputs<A> inputs = ChannelInputsOf<A>(node);
    A *const gamma = As<A>(dgamma), *const beta = As<A>(dbeta);
    if (node.y == nullptr) {
      return SumColumns(
          GradientSums<T, false>{ChunksOf(node.groups), {x, dy}, {}, packed, inputs, node.relu, dstats, gamma, beta},
          scratch, queue);
    }
    const PitchedRows<const T> y = ReluOf<T>(node);
    const PitchedRows<T> masked = MaskedOf<T>(node);
    return SumColumns(GradientSums<T, true>{ChunksOf(node.groups),
                                            {x, dy, y},
                                            masked,
                                            packed && y.packed(channels) && masked.packed(channels),
                                            inputs,
                                            node.relu,
                                            dstats,
                                            gamma,
                                            beta},
                      scratch, queue);
  });
}

LaunchError BatchNormNormalizeInputGrad(DType dtype, const BatchNormLaunch& node, void* dx, CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    const NormalizeInputGradElement<Compute<T>> element{ChannelInputsOf<Compute<T>>(node), node.relu};
    return ForEachElement<T>(node, {XOf<T>(node), DyOf<T>(node)}, dx, element, queue);
  });
}

LaunchError BatchNormInputGrad(DType dtype, const BatchNormLaunch& node, void* dx, CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    const InputGradElement<Compute<T>> element{ChannelInputsOf<Compute<T>>(node), node.dstats, node.relu};
    return ForEachElement<T>(node, {XOf<T>(node), DyOf<T>(node)}, dx, element, queue);
  });
}

LaunchError SmallBatchNormGrad(DType dtype, const BatchNormLaunch& node, void* dx, void* dgamma, void* dbeta,
                               CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    return node.y != nullptr ? MapKeptRows(SmallBackward<T, true>(node, dx, dgamma, dbeta), queue)
                             : MapKeptRows(SmallBackward<T, false>(node, dx, dgamma, dbeta), queue);
  });
}

LaunchError BatchNormStatisticsGrad(DType dtype, const BatchNormLaunch& node, void* dx, CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    const StatisticsGradElementwise<Compute<T>> element{As<Compute<T>>(node.shift), node.dstats, node.groups.channels};
    return ForEachElement<T>(node, {XOf<T>(node)}, dx, element, queue);
  });
}

}  // namespace partita::launch
