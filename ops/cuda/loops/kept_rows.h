// Sums per channel, and then a value for each element from them, in one launch: a block owns all rows of a few channels
// and keeps them in registers in between, so it reads them once and waits for no other block. Groups of rows follow
// each other in a block. The sums are in an order that only the sizes decide. For .cu files.
//
// A body has:
//   Element                                         the type of the tensors
//   kInputs, in, out, packed                        PitchedRows, and whether all of them are packed
//   groups, rows (of a group), channels
//   kAlters                                         if true, the last input is altered before it is kept, and stored:
//   beside, altered, Altered(value, value beside)   PitchedRows that are read and written for it; one element
//   Entry, Make(group, channel)                     what the sums of a channel need
//   Add(entry, values of the inputs, sums)          adds an element
//   Factors, Total, Finish(group, channel, sums, total)
//                                                   what the values of a channel need; total: over the groups
//   Store(channel, total)                           once for each channel
//   Value(factors, values of the inputs)            of an element
#ifndef PARTITA_OPS_CUDA_LOOPS_KEPT_ROWS_H_
#define PARTITA_OPS_CUDA_LOOPS_KEPT_ROWS_H_

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "ops/cuda/loops/channel_memory.h"
#include "ops/cuda/loops/column_sum_steps.h"
#include "ops/cuda/loops/elementwise.h"
#include "ops/cuda/loops/loops.h"

namespace partita {

inline constexpr int kKeptThreads = 256;
inline constexpr int kMaxKeptLanes = 2;
inline constexpr int kMaxKeptChannels = kMaxKeptLanes * kChannelsOfThread;
// Of the rows that a thread keeps: half of the 255 registers that it may have.
inline constexpr int kKeptBytes = 128 * 4;
inline constexpr int kMaxKeptRows = 32;

// All threads hold different rows in registers, so that indices of these have to be known to the compiler.
#ifdef __CUDA_ARCH__
#define PARTITA_UNROLLED _Pragma("unroll")
#else
#define PARTITA_UNROLLED
#endif

// Channels of a thread as words: two elements of bf16 each for itself would take two registers.
template <typename T>
struct KeptChannels {
  uint32_t words[sizeof(Channels<T>) / sizeof(uint32_t)];

  template <bool kPacked>
  PARTITA_HOST_DEVICE void Load(const T* from, int count) {
    if constexpr (kPacked) {
#ifdef __CUDA_ARCH__
      if constexpr (sizeof words == sizeof(uint2)) {  // of a memcpy the compiler makes two accesses
        const uint2 both = *reinterpret_cast<const uint2*>(from);
        words[0] = both.x;
        words[1] = both.y;
        return;
      }
#endif
      memcpy(words, __builtin_assume_aligned(from, alignof(Channels<T>)), sizeof words);
    } else {
      const Channels<T> channels = LoadChannels<false>(from, count);
      memcpy(words, &channels, sizeof words);
    }
  }

  PARTITA_HOST_DEVICE Compute<T> At(int channel) const {
    if constexpr (std::is_same_v<T, Bf16>) {
      const uint32_t word = words[channel / 2], bits = channel % 2 == 0 ? word << 16 : word & 0xFFFF0000;
      float value;
      memcpy(&value, &bits, sizeof value);
      return value;
    } else {
      T value;
      memcpy(&value, words + channel * sizeof(T) / sizeof(uint32_t), sizeof value);
      return value;
    }
  }
};

template <typename Body>
struct KeptRows {
  using T = typename Body::Element;
  using Entry = typename Body::Entry;
  using Factors = typename Body::Factors;
  using Total = typename Body::Total;
  static constexpr int kSums = 2, kInputs = Body::kInputs;
  static constexpr int kFitting = kKeptBytes / (kInputs * static_cast<int>(sizeof(Channels<T>)));
  static constexpr int kRows = kFitting < kMaxKeptRows ? kFitting : kMaxKeptRows;
  using Values = double[kSums * kChannelsOfThread][kKeptThreads];
  using Kept = KeptChannels<T>[kRows][kInputs];

  Body body;
  int lanes;  // of a block: threads side by side, each with its channels

  explicit KeptRows(const Body& of) : body(of), lanes(of.rows <= kRows * (kKeptThreads / kMaxKeptLanes) ? 2 : 1) {}

  // What is kept of a group: the most rows that it may have.
  static constexpr int64_t kMostRows = int64_t{kRows} * kKeptThreads;

  PARTITA_HOST_DEVICE int tile_channels() const { return lanes * kChannelsOfThread; }
  PARTITA_HOST_DEVICE int depth() const { return kKeptThreads / lanes; }
  int64_t blocks() const { return CeilDivide(body.channels, tile_channels()); }

  PARTITA_HOST_DEVICE void Load(int64_t tile, int64_t group, int thread, Kept& kept) const {
    const Place place = PlaceOf(tile, group, thread);
    if (body.packed) {
      LoadRows<true>(place, kept);
      if constexpr (Body::kAlters) AlterRows<true>(place, kept);
    } else {
      LoadRows<false>(place, kept);
      if constexpr (Body::kAlters) AlterRows<false>(place, kept);
    }
  }

  PARTITA_HOST_DEVICE void MakeEntry(int64_t tile, int64_t group, int thread, Entry* entries) const {
    const int64_t channel = ChannelOf(tile, thread);
    if (channel >= 0) entries[thread] = body.Make(group, channel);
  }

  // values[sum * kChannelsOfThread + channel][thread]
  PARTITA_HOST_DEVICE void AddRows(int64_t tile, int64_t group, int thread, const Kept& kept, const Entry* entries,
                                   Values& values) const {
    const Place place = PlaceOf(tile, group, thread);
    Sums<kSums> sums[kChannelsOfThread] = {};
    Entry own[kChannelsOfThread];
    for (int w = 0; w < kChannelsOfThread; ++w) own[w] = w < place.count ? entries[place.first + w] : Entry{};
    PARTITA_UNROLLED for (int r = 0; r < kRows; ++r) {
      if (place.row + r * place.step >= place.end) continue;
      PARTITA_UNROLLED for (int w = 0; w < kChannelsOfThread; ++w) {
        Compute<T> in[kInputs];
        PARTITA_UNROLLED for (int k = 0; k < kInputs; ++k) in[k] = kept[r][k].At(w);
        body.Add(own[w], in, sums[w]);
      }
    }
    for (int k = 0; k < kSums; ++k) {
      for (int w = 0; w < kChannelsOfThread; ++w) values[k * kChannelsOfThread + w][thread] = sums[w].at[k];
    }
  }

  // Adds the values of the second half of 2 * `half` threads to those of the first.
  PARTITA_HOST_DEVICE static void Fold(int half, int thread, Values& values) {
    if (thread >= half) return;
    for (int k = 0; k < kSums * kChannelsOfThread; ++k) values[k][thread] += values[k][thread + half];
  }

  // When the values are folded to `lanes` threads.
  PARTITA_HOST_DEVICE void Finish(int64_t tile, int64_t group, int thread, const Values& values, Total& total,
                                  Factors* factors) const {
    const int64_t channel = ChannelOf(tile, thread);
    if (channel < 0) return;
    Sums<kSums> sums;
    for (int k = 0; k < kSums; ++k) {
      sums.at[k] = values[k * kChannelsOfThread + thread % kChannelsOfThread][thread / kChannelsOfThread];
    }
    factors[thread] = body.Finish(group, channel, sums, total);
  }

  PARTITA_HOST_DEVICE void StoreTotal(int64_t tile, int thread, const Total& total) const {
    const int64_t channel = ChannelOf(tile, thread);
    if (channel >= 0) body.Store(channel, total);
  }

  PARTITA_HOST_DEVICE void Write(int64_t tile, int64_t group, int thread, const Kept& kept,
                                 const Factors* factors) const {
    if (body.packed) {
      WriteRows<true>(PlaceOf(tile, group, thread), kept, factors);
    } else {
      WriteRows<false>(PlaceOf(tile, group, thread), kept, factors);
    }
  }

 private:
  // A thread's `count` channels, the `first` of its block's and the channel-th of all; every step-th row from `row` on.
  struct Place {
    int64_t channel, before;  // before: rows of the groups before
    int count, first, row, end, step;
  };

  PARTITA_HOST_DEVICE Place PlaceOf(int64_t tile, int64_t group, int thread) const {
    const int first = thread % lanes * kChannelsOfThread;
    const int64_t channel = tile * tile_channels() + first;
    const int count = static_cast<int>(Larger(0, Smaller(kChannelsOfThread, body.channels - channel)));
    return {channel, group * body.rows, count, first, thread / lanes, count == 0 ? 0 : static_cast<int>(body.rows),
            depth()};
  }

  // Of the tile's thread-th channel; -1: there is none.
  PARTITA_HOST_DEVICE int64_t ChannelOf(int64_t tile, int thread) const {
    const int64_t channel = tile * tile_channels() + thread;
    return thread < tile_channels() && channel < body.channels ? channel : -1;
  }

  template <typename U>
  PARTITA_HOST_DEVICE static U* FirstOf(const PitchedRows<U>& rows, const Place& place) {
    return rows.address + (place.before + place.row) * rows.pitch + place.channel;
  }

  template <bool kPacked>
  PARTITA_HOST_DEVICE void LoadRows(const Place& place, Kept& kept) const {
    PARTITA_UNROLLED for (int k = 0; k < kInputs; ++k) {
      const T* from = FirstOf(body.in[k], place);
      PARTITA_UNROLLED for (int r = 0; r < kRows; ++r, from += place.step * body.in[k].pitch) {
        if (place.row + r * place.step < place.end) kept[r][k].template Load<kPacked>(from, place.count);
      }
    }
  }

  // A few rows at a time are loaded before the first of them is stored.
  template <bool kPacked>
  PARTITA_HOST_DEVICE void AlterRows(const Place& place, Kept& kept) const {
    constexpr int kTogether = 8;
    static_assert(kRows % kTogether == 0);
    const T* from = FirstOf(body.beside, place);
    T* to = FirstOf(body.altered, place);
    PARTITA_UNROLLED for (int first = 0; first < kRows; first += kTogether) {
      KeptChannels<T> beside[kTogether];
      PARTITA_UNROLLED for (int r = 0; r < kTogether; ++r, from += place.step * body.beside.pitch) {
        if (place.row + (first + r) * place.step < place.end) beside[r].template Load<kPacked>(from, place.count);
      }
      PARTITA_UNROLLED for (int r = 0; r < kTogether; ++r, to += place.step * body.altered.pitch) {
        if (place.row + (first + r) * place.step >= place.end) continue;
        KeptChannels<T>& own = kept[first + r][kInputs - 1];
        Channels<T> result;
        PARTITA_UNROLLED for (int w = 0; w < kChannelsOfThread; ++w) {
          result.at[w] = static_cast<T>(Body::Altered(own.At(w), beside[r].At(w)));
        }
        memcpy(own.words, &result, sizeof result);
        StoreChannels<kPacked>(to, place.count, result);
      }
    }
  }

  template <bool kPacked>
  PARTITA_HOST_DEVICE void WriteRows(const Place& place, const Kept& kept, const Factors* factors) const {
    Factors own[kChannelsOfThread];
    for (int w = 0; w < kChannelsOfThread; ++w) own[w] = w < place.count ? factors[place.first + w] : Factors{};
    T* to = FirstOf(body.out, place);
    PARTITA_UNROLLED for (int r = 0; r < kRows; ++r, to += place.step * body.out.pitch) {
      if (place.row + r * place.step >= place.end) continue;
      Channels<T> result;
      PARTITA_UNROLLED for (int w = 0; w < kChannelsOfThread; ++w) {
        Compute<T> in[kInputs];
        PARTITA_UNROLLED for (int k = 0; k < kInputs; ++k) in[k] = kept[r][k].At(w);
        result.at[w] = static_cast<T>(body.Value(own[w], in));
      }
      StoreChannels<kPacked>(to, place.count, result);
    }
  }
};

#ifdef __CUDACC__

// All conditions around barriers are the same for all threads of a block.
template <typename Steps>
__global__ void __launch_bounds__(kKeptThreads, 1) KeptRowsKernel(int64_t, const __grid_constant__ Steps steps) {
  __shared__ typename Steps::Values values;
  __shared__ typename Steps::Entry entries[kMaxKeptChannels];
  __shared__ typename Steps::Factors factors[kMaxKeptChannels];
  const int64_t tile = blockIdx.x;
  const int thread = static_cast<int>(threadIdx.x);
  typename Steps::Total total{};
  PARTITA_NOT_UNROLLED for (int64_t group = 0; group < steps.body.groups; ++group) {
    typename Steps::Kept kept;
    steps.Load(tile, group, thread, kept);
    steps.MakeEntry(tile, group, thread, entries);
    __syncthreads();
    steps.AddRows(tile, group, thread, kept, entries, values);
    __syncthreads();
    for (int half = kKeptThreads / 2; half >= steps.lanes; half /= 2) {
      Steps::Fold(half, thread, values);
      __syncthreads();
    }
    steps.Finish(tile, group, thread, values, total, factors);
    __syncthreads();  // what the next group overwrites, but for the factors, has been read
    steps.Write(tile, group, thread, kept, factors);
  }
  steps.StoreTotal(tile, thread, total);
}

template <typename Steps>
LaunchError MapKept(const Steps& steps, CudaQueue queue) {
  return LaunchLoop<Steps, KeptRowsKernel<Steps>>({steps.blocks(), kKeptThreads, 1}, steps.blocks(), steps, queue);
}

#else

template <typename Steps>
LaunchError MapKept(const Steps& steps, CudaQueue queue) {
  if (const LaunchError error = Ask(steps.blocks(), kKeptThreads, 1, queue); error != kLaunched) return error;
  struct Thread {
    typename Steps::Kept kept;
    typename Steps::Total total{};
  };
  const auto for_threads = [](const auto& f) {
    for (int thread = 0; thread < kKeptThreads; ++thread) f(thread);
  };
  typename Steps::Values values;
  typename Steps::Entry entries[kMaxKeptChannels];
  typename Steps::Factors factors[kMaxKeptChannels];
  for (int64_t tile = steps.blocks(); tile-- > 0;) {
    std::vector<Thread> threads(kKeptThreads);
    for (int64_t group = 0; group < steps.body.groups; ++group) {
      for_threads([&](int t) { steps.Load(tile, group, t, threads[static_cast<size_t>(t)].kept); });
      for_threads([&](int t) { steps.MakeEntry(tile, group, t, entries); });
      for_threads([&](int t) { steps.AddRows(tile, group, t, threads[static_cast<size_t>(t)].kept, entries, values); });
      for (int half = kKeptThreads / 2; half >= steps.lanes; half /= 2) {
        for_threads([&](int t) { Steps::Fold(half, t, values); });
      }
      for_threads([&](int t) { steps.Finish(tile, group, t, values, threads[static_cast<size_t>(t)].total, factors); });
      for_threads([&](int t) { steps.Write(tile, group, t, threads[static_cast<size_t>(t)].kept, factors); });
    }
    for_threads([&](int t) { steps.StoreTotal(tile, t, threads[static_cast<size_t>(t)].total); });
  }
  return kLaunched;
}

#endif  // __CUDACC__

// kInvalidLaunch: a group has more rows than are kept.
template <typename Body>
LaunchError MapKeptRows(const Body& body, CudaQueue queue) {
  if (body.rows > KeptRows<Body>::kMostRows) return kInvalidLaunch;
  if (body.channels == 0) return kLaunched;
  return MapKept(KeptRows<Body>(body), queue);
}

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_LOOPS_KEPT_ROWS_H_
