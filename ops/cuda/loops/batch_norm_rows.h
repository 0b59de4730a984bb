// What batch normalization needs of a group and channel, made once per block from the statistics, and its loop over
// elements. For .cu files, which are compiled without contraction of multiply and add: forward and backward compute
// bitwise identical inputs of relu.
#ifndef PARTITA_OPS_CUDA_LOOPS_BATCH_NORM_ROWS_H_
#define PARTITA_OPS_CUDA_LOOPS_BATCH_NORM_ROWS_H_

#include "ops/cuda/launch/batch_norm.h"
#include "ops/cuda/loops/column_tiles.h"
#include "ops/functors/batch_norm.h"

namespace partita {

// A: the type of parameters and of arithmetic.
template <typename A>
struct ChannelInputs {
  const double* stats;
  const A *shift, *gamma, *beta;
  int64_t channels;
  double count, epsilon;

  PARTITA_HOST_DEVICE BatchMoments Moments(int64_t group, int64_t c) const {
    const double* own = stats + 2 * group * channels;
    return MakeBatchMoments(own[c], own[channels + c], count);
  }
  PARTITA_HOST_DEVICE NormalizeCoefficients<A> Coefficients(const BatchMoments& moments, int64_t c) const {
    return MakeNormalizeCoefficients<A>(moments.shifted_mean + shift[c], moments.variance, epsilon, gamma[c], beta[c]);
  }
};

template <typename A>
ChannelInputs<A> ChannelInputsOf(const launch::BatchNormLaunch& node) {
  return {node.stats,           As<A>(node.shift), As<A>(node.gamma), As<A>(node.beta),
          node.groups.channels, node.groups.count, node.epsilon};
}

// Rows of the node's channels; pitch 0: they follow each other.
template <typename T>
PitchedRows<T> RowsOf(const launch::BatchNormLaunch& node, T* address, int64_t pitch) {
  return {address, pitch == 0 ? node.groups.channels : pitch};
}

template <typename T>
PitchedRows<const T> XOf(const launch::BatchNormLaunch& node) {
  return RowsOf(node, As<T>(node.x), node.x_pitch);
}

template <typename T>
PitchedRows<const T> DyOf(const launch::BatchNormLaunch& node) {
  return RowsOf(node, As<T>(node.dy), node.dy_pitch);
}

template <typename T>
PitchedRows<const T> ResidualOf(const launch::BatchNormLaunch& node) {
  return RowsOf(node, As<T>(node.residual), node.residual_pitch);
}

template <typename T>
PitchedRows<const T> ReluOf(const launch::BatchNormLaunch& node) {
  return RowsOf(node, As<T>(node.y), node.y_pitch);
}

template <typename T>
PitchedRows<T> MaskedOf(const launch::BatchNormLaunch& node) {
  return RowsOf(node, As<T>(node.masked), node.masked_pitch);
}

// out = element(entry of the channel, values of the inputs), for every element.
template <typename T, int kInputs, typename Element>
struct MapRows {
  using Entry = typename Element::Entry;
  // Beside five coefficients 64 registers hold no two rows of two f32 tensors.
  static constexpr int kTogether = 4 / kInputs / (kInputs == 2 && sizeof(T) >= 4 && sizeof(Entry) > 16 ? 2 : 1);
  ColumnChunks chunks;
  PitchedRows<const T> in[kInputs];
  PitchedRows<T> out;
  bool packed;
  Element element;

  PARTITA_HOST_DEVICE Entry Make(int64_t group, int64_t channel) const { return element.Make(group, channel); }
  PARTITA_HOST_DEVICE void Walk(const ThreadPlace& place, const Entry* entries) const {
    if (packed) {
      Rows<true>(place, entries);
    } else {
      Rows<false>(place, entries);
    }
  }

 private:
  template <bool kPacked>
  PARTITA_HOST_DEVICE void Rows(const ThreadPlace& place, const Entry* entries) const {
    Entry own[kChannelsOfThread];
    for (int w = 0; w < kChannelsOfThread; ++w) own[w] = entries[w];
    Column<T> to = ColumnOf(out, place);
    ForRows<kPacked, kTogether>(in, place, [&](const Channels<T>(&x)[kInputs]) {
      Channels<T> result;
      for (int w = 0; w < kChannelsOfThread; ++w) {
        Compute<T> values[kInputs];
        for (int k = 0; k < kInputs; ++k) values[k] = static_cast<Compute<T>>(x[k].at[w]);
        result.at[w] = static_cast<T>(element(own[w], values));
      }
      StoreChannels<kPacked>(to.at, place.count, result);
      to.at += to.step;
    });
  }
};

// A body of MapKeptRows but for what is computed.
template <typename T, int kRead>
struct KeptBatchNorm {
  using Element = T;
  static constexpr int kInputs = kRead;
  static constexpr bool kAlters = false;
  PitchedRows<const T> in[kRead];
  PitchedRows<T> out;
  bool packed;
  int64_t groups, rows, channels;

  KeptBatchNorm(const launch::BatchNormLaunch& node, const PitchedRows<const T> (&inputs)[kRead], void* output)
      : out(RowsOf(node, As<T>(output), node.out_pitch)),
        packed(out.packed(node.groups.channels)),
        groups(node.groups.groups),
        rows(node.groups.rows_per_group),
        channels(node.groups.channels) {
    for (int k = 0; k < kRead; ++k) {
      in[k] = inputs[k];
      packed = packed && in[k].packed(channels);
    }
  }
};

template <typename T, int kInputs, typename Element>
LaunchError ForEachElement(const launch::BatchNormLaunch& node, const PitchedRows<const T> (&in)[kInputs], void* out,
                           const Element& element, CudaQueue queue) {
  MapRows<T, kInputs, Element> body{
      launch::ChunksOf(node.groups), {}, RowsOf(node, As<T>(out), node.out_pitch), true, element};
  body.packed = body.out.packed(node.groups.channels);
  for (int k = 0; k < kInputs; ++k) {
    body.in[k] = in[k];
    body.packed = body.packed && in[k].packed(node.groups.channels);
  }
  return MapTiles(body, queue);
}

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_LOOPS_BATCH_NORM_ROWS_H_
