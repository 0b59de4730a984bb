#include "ops/cuda/launch/batch_norm.h"
#include "ops/cuda/loops/batch_norm_rows.h"
#include "ops/cuda/loops/column_sums.h"

namespace partita::launch {
namespace {

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
    stats[2 * group * chunks.channels + c] = sums.at[0];
    stats[(2 * group + 1) * chunks.channels + c] = sums.at[1];
  }

 private:
  template <bool kPacked>
  PARTITA_HOST_DEVICE void Rows(const ThreadPlace& place, const double* shifts, Sums<2>* sums) const {
    double own[kChannelsOfThread];
    for (int w = 0; w < kChannelsOfThread; ++w) own[w] = shifts[w];
    ForRows<kPacked, 4>(x, place, [&](const Channels<T>(&in)[1]) {
      for (int w = 0; w < kChannelsOfThread; ++w) {
        const double d = static_cast<double>(in[0].at[w]) - own[w];
        sums[w].at[0] += d;
        sums[w].at[1] += d * d;
      }
    });
  }
};

template <typename A>
struct NormalizeElementwise {
  using Entry = NormalizeCoefficients<A>;
  ChannelInputs<A> channels;
  bool relu;
  PARTITA_HOST_DEVICE Entry Make(int64_t group, int64_t c) const {
    return channels.Coefficients(channels.Moments(group, c), c);
  }
  PARTITA_HOST_DEVICE A operator()(const Entry& k, const A* x) const {
    const A value = NormalizeElement(x[0], k.mean, k.scale, k.beta);
    return relu ? Relu::Value(value) : value;
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
    const NormalizeElementwise<Compute<T>> element{ChannelInputsOf<Compute<T>>(node), node.relu};
    return ForEachElement<T>(node, {XOf<T>(node)}, y, element, queue);
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
