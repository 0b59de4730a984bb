// Vectors of what is computed, and how they are read and written, for a file that says what they are: PARTITA_VECTORS
// is their target, kVectorBytes their size, and kMakesTiles whether there are registers for tiles of pixels.
#ifndef PARTITA_OPS_HOST_GROUPED_VECTORS_H_
#define PARTITA_OPS_HOST_GROUPED_VECTORS_H_

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "ops/host/grouped/loops.h"

#define PARTITA_INLINED PARTITA_VECTORS inline __attribute__((always_inline))

namespace partita {
namespace {

// `kBytes` of T; a single one is T itself.
template <typename T, int kBytes>
struct VectorOf {
  typedef T Type __attribute__((vector_size(kBytes)));
};
template <typename T>
struct VectorOf<T, int{sizeof(T)}> {
  using Type = T;
};

template <typename T>
constexpr int64_t kLanesOf = kVectorBytes / static_cast<int>(sizeof(Compute<T>));
template <typename T>
using WholeVector = typename VectorOf<Compute<T>, kVectorBytes>::Type;

// A vector at any address.
template <typename V, typename T>
PARTITA_INLINED V Read(const T* from) {
  V value;
  std::memcpy(&value, from, sizeof(V));
  return value;
}
template <typename V, typename T>
PARTITA_INLINED void Write(const V& value, T* to) {
  std::memcpy(static_cast<void*>(to), &value, sizeof(V));
}

// The bits of a vector of floats, and those of as many elements of bf16.
template <typename V>
using BitsOf = typename VectorOf<uint32_t, sizeof(V)>::Type;
template <typename V>
using HalfOf = typename VectorOf<uint16_t, sizeof(V) / 2>::Type;

// A vector of elements at `from`, converted to those of V.
template <typename V, typename T>
PARTITA_INLINED V Load(const T* from) {
  if constexpr (std::is_same_v<T, Compute<T>>) {
    return Read<V>(from);
  } else if constexpr (std::is_same_v<V, Compute<T>>) {
    return static_cast<V>(*from);
  } else {
    return (V)(__builtin_convertvector(Read<HalfOf<V>>(from), BitsOf<V>) << 16);
  }
}

// Rounds as Bf16 does (runtime/base/bf16.h).
template <typename V, typename T>
PARTITA_INLINED void Store(const V& value, T* to) {
  if constexpr (std::is_same_v<T, Compute<T>>) {
    Write(value, to);
  } else if constexpr (std::is_same_v<V, Compute<T>>) {
    *to = T(value);
  } else {
    const BitsOf<V> bits = (BitsOf<V>)value;
    const BitsOf<V> nearest = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16, quiet = (bits >> 16) | 0x40;
    const BitsOf<V> rounded = (bits & 0x7FFFFFFF) > 0x7F800000 ? quiet : nearest;
    Write(__builtin_convertvector(rounded, HalfOf<V>), to);
  }
}

// Calls f<V>(c) for all channels in vectors, at the end in shorter ones.
template <int kBytes, typename T, typename F>
PARTITA_INLINED void ForVectors(int64_t c, int64_t channels, const F& f) {
  constexpr int64_t kLanes = kBytes / static_cast<int>(sizeof(Compute<T>));
  for (; c + kLanes <= channels; c += kLanes) f.template operator()<typename VectorOf<Compute<T>, kBytes>::Type>(c);
  if constexpr (kLanes > 1) ForVectors<kBytes / 2, T>(c, channels, f);
}

// Each lane becomes channel `kChannel` of its group of kDepth.
template <int kDepth, int kChannel, typename V, size_t... kLanes>
PARTITA_INLINED V Spread(const V& met, std::index_sequence<kLanes...>) {
  if constexpr (kDepth == 1) {
    return met;
  } else {
    return __builtin_shufflevector(met, met, (static_cast<int>(kLanes) / kDepth * kDepth + kChannel)...);
  }
}

// For channels of a group from kFirst on, vectors in which each lane has that channel of its own group.
template <int kDepth, int kFirst, typename A, int kChannel = 0, typename V, int kCount>
PARTITA_INLINED void SpreadChannels(const V& met, V (&channels)[kCount]) {
  if constexpr (kChannel < kCount) {
    channels[kChannel] = Spread<kDepth, kFirst + kChannel>(met, std::make_index_sequence<sizeof(V) / sizeof(A)>());
    SpreadChannels<kDepth, kFirst, A, kChannel + 1>(met, channels);
  }
}

inline bool AreSideBySide(const TapColumns& columns) {
  for (size_t q = 1; q < columns.columns.size(); ++q) {
    if (columns.columns[q].offset != columns.columns[q - 1].offset + 1) return false;
  }
  return true;
}

// Ten times how many columns, and their step: what tiles are compiled for.
inline int64_t KindOf(const TapColumns& columns) {
  return 10 * static_cast<int64_t>(columns.columns.size()) + columns.step;
}

// Whether vectors hold whole groups, and pixels whole vectors.
template <typename T>
bool FillsVectors(const TapColumns& columns) {
  return columns.channels >= kLanesOf<T> && kLanesOf<T> % columns.depth == 0;
}

}  // namespace
}  // namespace partita

#endif  // PARTITA_OPS_HOST_GROUPED_VECTORS_H_
