// Loads and stores of the loops over rows of channels; all their memory accesses go through here. For .cu files.
#ifndef PARTITA_OPS_CUDA_LOOPS_CHANNEL_MEMORY_H_
#define PARTITA_OPS_CUDA_LOOPS_CHANNEL_MEMORY_H_

#include <cstdint>

#include "ops/cuda/launch/reduction_sizes.h"
#include "runtime/base/philox.h"

namespace partita {

// The channels of a thread in a row: one memory access, two of f64.
template <typename T>
struct alignas(sizeof(T) < 4 ? 8 : 16) Channels {
  T at[kChannelsOfThread];
};

// Rows of channels; from one to the next it is `pitch` elements, at least as many as there are channels.
template <typename T>
struct PitchedRows {
  T* address;
  int64_t pitch;

  // Whether every thread's channels can be moved at once.
  bool packed(int64_t channels) const {
    return channels % kChannelsOfThread == 0 && pitch % kChannelsOfThread == 0 &&
           reinterpret_cast<uintptr_t>(address) % alignof(Channels<T>) == 0;
  }
};

// The first `count` channels; what is behind them is 0. kPacked: all of them.
template <bool kPacked, typename T>
PARTITA_HOST_DEVICE Channels<T> LoadChannels(const T* from, int count) {
  if constexpr (kPacked) {
    return *reinterpret_cast<const Channels<T>*>(from);
  } else {
    Channels<T> result{};
    for (int w = 0; w < kChannelsOfThread; ++w) {
      if (w < count) result.at[w] = from[w];
    }
    return result;
  }
}

template <bool kPacked, typename T>
PARTITA_HOST_DEVICE void StoreChannels(T* to, int count, const Channels<T>& channels) {
  if constexpr (kPacked) {
    *reinterpret_cast<Channels<T>*>(to) = channels;
  } else {
    for (int w = 0; w < kChannelsOfThread; ++w) {
      if (w < count) to[w] = channels.at[w];
    }
  }
}

// What another block of the same launch has written: past the cache of this multiprocessor, which may hold an older
// value of a neighbour's.
PARTITA_HOST_DEVICE inline double LoadOfOtherBlock(const double* from) {
#ifdef __CUDA_ARCH__
  return __ldcg(from);
#else
  return *from;
#endif
}

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_LOOPS_CHANNEL_MEMORY_H_
