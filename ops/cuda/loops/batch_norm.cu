#include "ops/cuda/launch/batch_norm.h"
#include "ops/cuda/loops/batch_norm_rows.h"
#include "ops/cuda/loops/column_sums.h"
#include "ops/cuda/loops/kept_rows.h"

namespace partita::launch {
namespace {

PARTITA_HOST_DEVICE void AddShifted(double x, double shift, Sums<2>& sums) {
  const double d = x - shift;
  sums.at[0] += d;
  sums.at[1] += d * d;
}

PARTITA_HOST_DEVICE void StoreSums(int64_t group, int64_t c, int64_t channels, const Sums<2>& sums, double* stats) {
  stats[2 * group * channels + c] = sums.at[0];
  stats[(2 * group + 1) * channels + c] = sums.at[1];
}

// s1 and s2. An entry is the shift.
template <typename T>
struct StatisticsSums {
  static constexpr int kSums = 2, kBlocksTogether = 4;
  static constexpr bool kOverGroups = false;
  using Entry = double;
  ColumnChunks chunks;
  PitchedRows<const T> x[1];
  bool packed;
  const Compute<T>* shift;
  double* stats;

  PARTITA_HOST_DEVICE double Make(int64_t, int64_t c) const { return static_cast<double>(shift[c]); }

  PARTITA_HOST_DEVICE void Add(const ThreadPlace& place, const double* shifts, Sums<2>* sums) const {
    if (packed) {
      Rows<true>(place, shifts, sums);
    } else {
      Rows<false>(place, shifts, sums);
    }
  }

  PARTITA_HOST_DEVICE void Finish(int64_t group, int64_t c, const Sums<2>& sums) const {
    StoreSums(group, c, chunks.channels, sums, stats);
  }

 private:
  template <bool kPacked>
  PARTITA_HOST_DEVICE void Rows(const ThreadPlace& place, const double* shifts, Sums<2>* sums) const {
    double own[kChannelsOfThread];
    for (int w = 0; w < kChannelsOfThread; ++w) own[w] = shifts[w];
    ForRows<kPacked, 4>(x, place, [&](const Channels<T>(&in)[1]) {
      for (int w = 0; w < kChannelsOfThread; ++w) AddShifted(static_cast<double>(in[0].at[w]), own[w], sums[w]);
    });
  }
};

// Of x, and of the residual if one is added.
template <typename A, bool kAdds>
struct NormalizeElementwise {
  using Entry = NormalizeCoefficients<A>;
  ChannelInputs<A> channels;
  bool relu;
  PARTITA_HOST_DEVICE Entry Make(int64_t group, int64_t c) const {
    return channels.Coefficients(channels.Moments(group, c), c);
  }
  PARTITA_HOST_DEVICE A operator()(const Entry& k, const A* in) const {
    A value = NormalizeElement(in[0], k.mean, k.scale, k.beta);
    if constexpr (kAdds) value += in[1];
    return relu ? Relu::Value(value) : value;
  }
};

// Statistics and, from them, y.
template <typename T, bool kAdds>
struct SmallForward : KeptBatchNorm<T, kAdds ? 2 : 1> {
  using Kept = KeptBatchNorm<T, kAdds ? 2 : 1>;
  using A = Compute<T>;
  using Entry = double;
  using Factors = NormalizeCoefficients<A>;
  struct Total {};
  ChannelInputs<A> inputs;
  bool relu;
  double* stats;

  SmallForward(const BatchNormLaunch& node, double* statistics, void* y)
      : Kept(KeptOf(node, y)), inputs(ChannelInputsOf<A>(node)), relu(node.relu), stats(statistics) {}

  PARTITA_HOST_DEVICE Entry Make(int64_t, int64_t c) const { return static_cast<double>(inputs.shift[c]); }
  PARTITA_HOST_DEVICE void Add(Entry shift, const A* x, Sums<2>& sums) const {
    AddShifted(static_cast<double>(x[0]), shift, sums);
  }
  PARTITA_HOST_DEVICE Factors Finish(int64_t group, int64_t c, const Sums<2>& sums, Total&) const {
    StoreSums(group, c, this->channels, sums, stats);
    return inputs.Coefficients(MakeBatchMoments(sums.at[0], sums.at[1], inputs.count), c);
  }
  PARTITA_HOST_DEVICE void Store(int64_t, const Total&) const {}
  PARTITA_HOST_DEVICE A Value(const Factors& k, const A* in) const {
    return NormalizeElementwise<A, kAdds>{inputs, relu}(k, in);
  }

 private:
  static Kept KeptOf(const BatchNormLaunch& node, void* y) {
    if constexpr (kAdds) {
      return Kept(node, {XOf<T>(node), ResidualOf<T>(node)}, y);
    } else {
      return Kept(node, {XOf<T>(node)}, y);
    }
  }
};

template <typename A>
struct InferenceElementwise {
  using Entry = NormalizeCoefficients<A>;
  const A *mean, *variance, *gamma, *beta;
  double epsilon;
  bool relu;
  PARTITA_HOST_DEVICE Entry Make(int64_t, int64_t c) const {
    return MakeNormalizeCoefficients<A>(mean[c], variance[c], epsilon, gamma[c], beta[c]);
  }
  PARTITA_HOST_DEVICE A operator()(const Entry& k, const A* x) const {
    const A value = NormalizeElement(x[0], k.mean, k.scale, k.beta);
    return relu ? Relu::Value(value) : value;
  }
};

}  // namespace

LaunchError BatchNormStatistics(DType dtype, const BatchNormLaunch& node, double* stats, const SumScratch& scratch,
                                CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    const PitchedRows<const T> x = XOf<T>(node);
    const StatisticsSums<T> body{
        ChunksOf(node.groups), {x}, x.packed(node.groups.channels), As<Compute<T>>(node.shift), stats};
    return SumColumns(body, scratch, queue);
  });
}

LaunchError BatchNormNormalize(DType dtype, const BatchNormLaunch& node, void* y, CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    const ChannelInputs<Compute<T>> channels = ChannelInputsOf<Compute<T>>(node);
    if (node.residual != nullptr) {
      const NormalizeElementwise<Compute<T>, true> element{channels, node.relu};
      return ForEachElement<T>(node, {XOf<T>(node), ResidualOf<T>(node)}, y, element, queue);
    }
    const NormalizeElementwise<Compute<T>, false> element{channels, node.relu};
    return ForEachElement<T>(node, {XOf<T>(node)}, y, element, queue);
  });
}

LaunchError SmallBatchNorm(DType dtype, const BatchNormLaunch& node, double* stats, void* y, CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    return node.residual != nullptr ? MapKeptRows(SmallForward<T, true>(node, stats, y), queue)
                                    : MapKeptRows(SmallForward<T, false>(node, stats, y), queue);
  });
}

LaunchError BatchNormInference(DType dtype, const BatchNormLaunch& node, const void* running_mean,
                               const void* running_variance, void* y, CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    using A = Compute<T>;
    const InferenceElementwise<A> element{
        As<A>(running_mean), As<A>(running_variance), As<A>(node.gamma), As<A>(node.beta), node.epsilon, node.relu};
    return ForEachElement<T>(node, {XOf<T>(node)}, y, element, queue);
  });
}

}  // namespace partita::launch
