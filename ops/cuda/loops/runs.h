// Runs of elements that a thread moves by accesses of at most 16 bytes and computes on in Compute<T>. Two elements of
// bf16 share a word, so they are compared, widened and rounded in pairs. For .cu files.
#ifndef PARTITA_OPS_CUDA_LOOPS_RUNS_H_
#define PARTITA_OPS_CUDA_LOOPS_RUNS_H_

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "ops/functors/pairs.h"
#include "runtime/base/bf16.h"
#include "runtime/base/philox.h"

namespace partita {

// As many elements of a run as one access moves.
template <typename T, int kWidth>
inline constexpr int kAccessWidth = kWidth * sizeof(T) > 16 ? 16 / sizeof(T) : kWidth;

template <typename T, int kWidth>
struct alignas(kAccessWidth<T, kWidth> * sizeof(T)) Run {
  T at[kWidth];
};

template <typename T, int kWidth>
inline constexpr bool kInPairs = std::is_same_v<T, Bf16>&& kWidth % 2 == 0;

// As many words as a run has elements, or pairs of bf16.
template <typename T, int kWidth>
struct RunWords {
  static constexpr int kCount = kInPairs<T, kWidth> ? kWidth / 2 : kWidth;
  uint32_t at[kCount];
};

template <int kWidth>
PARTITA_HOST_DEVICE RunWords<Bf16, kWidth> WordsOf(const Run<Bf16, kWidth>& run) {
  RunWords<Bf16, kWidth> words;
  memcpy(words.at, &run, sizeof run);
  return words;
}

template <int kWidth, typename T>
PARTITA_HOST_DEVICE Run<T, kWidth> LoadRun(const T* from) {
  return *reinterpret_cast<const Run<T, kWidth>*>(from);
}

// Behind an address, in bytes: on a GPU two additions of a constant.
template <typename T>
PARTITA_HOST_DEVICE T* Behind(T* address, int64_t bytes) {
  using Byte = std::conditional_t<std::is_const_v<T>, const char, char>;
  return reinterpret_cast<T*>(reinterpret_cast<Byte*>(address) + bytes);
}

// Of a run that two accesses move: its halves lie `apart` bytes from each other.
template <int kWidth, typename T>
PARTITA_HOST_DEVICE Run<T, kWidth> LoadRun(const T* from, int64_t apart) {
  constexpr int kAccess = kAccessWidth<T, kWidth>;
  static_assert(kAccess == kWidth || 2 * kAccess == kWidth);
  Run<T, kWidth> run;
  for (int half = 0; half * kAccess < kWidth; ++half) {
    const Run<T, kAccess> loaded = LoadRun<kAccess>(Behind(from, half * apart));
    for (int k = 0; k < kAccess; ++k) run.at[half * kAccess + k] = loaded.at[k];
  }
  return run;
}

template <typename T, int kWidth>
PARTITA_HOST_DEVICE void StoreRun(const Run<T, kWidth>& run, T* to, int64_t apart) {
  constexpr int kAccess = kAccessWidth<T, kWidth>;
  for (int half = 0; half * kAccess < kWidth; ++half) {
    Run<T, kAccess> stored;
    for (int k = 0; k < kAccess; ++k) stored.at[k] = run.at[half * kAccess + k];
    *reinterpret_cast<Run<T, kAccess>*>(Behind(to, half * apart)) = stored;
  }
}

template <typename T, int kWidth>
PARTITA_HOST_DEVICE void Widen(const Run<T, kWidth>& run, Compute<T> (&to)[kWidth]) {
  if constexpr (kInPairs<T, kWidth>) {
    const auto words = WordsOf(run);
    for (int k = 0; k < kWidth / 2; ++k) {
      const uint32_t pair[2] = {words.at[k] << 16, words.at[k] & 0xFFFF0000};
      memcpy(to + 2 * k, pair, sizeof pair);
    }
  } else {
    for (int k = 0; k < kWidth; ++k) to[k] = static_cast<Compute<T>>(run.at[k]);
  }
}

// Rounded as Bf16 rounds, but for the payload of a NaN; `low` is the first in memory.
PARTITA_HOST_DEVICE inline uint32_t RoundedPair(float low, float high) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  uint32_t word;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
#else
  return static_cast<uint32_t>(Bf16(high).bits()) << 16 | Bf16(low).bits();
#endif
}

template <typename T, int kWidth>
PARTITA_HOST_DEVICE Run<T, kWidth> Rounded(const Compute<T> (&from)[kWidth]) {
  Run<T, kWidth> run;
  if constexpr (kInPairs<T, kWidth>) {
    RunWords<T, kWidth> words;
    for (int k = 0; k < kWidth / 2; ++k) words.at[k] = RoundedPair(from[2 * k], from[2 * k + 1]);
    memcpy(&run, words.at, sizeof run);
  } else {
    for (int k = 0; k < kWidth; ++k) run.at[k] = static_cast<T>(from[k]);
  }
  return run;
}

template <typename T, int kWidth>
PARTITA_HOST_DEVICE void StoreRounded(const Compute<T> (&from)[kWidth], T* to) {
  *reinterpret_cast<Run<T, kWidth>*>(to) = Rounded<T>(from);
}

// All bits of each half of a word whose elements of bf16 are as `test` has them.
template <typename Test>
PARTITA_HOST_DEVICE uint32_t HalvesThat(const Test& test, uint32_t a, uint32_t b) {
  const auto holds = [&](int shift) {
    return test(static_cast<float>(Bf16::FromBits(static_cast<uint16_t>(a >> shift))),
                static_cast<float>(Bf16::FromBits(static_cast<uint16_t>(b >> shift))));
  };
  return (holds(0) ? 0xFFFFu : 0) | (holds(16) ? 0xFFFF0000u : 0);
}

PARTITA_HOST_DEVICE inline uint32_t EqualHalves(uint32_t a, uint32_t b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  uint32_t mask;
  asm("set.eq.u32.bf16x2 %0, %1, %2;" : "=r"(mask) : "r"(a), "r"(b));
  return mask;
#else
  return HalvesThat([](float x, float y) { return x == y; }, a, b);
#endif
}

// Of Exceeds(value, best).
PARTITA_HOST_DEVICE inline uint32_t ExceedingHalves(uint32_t value, uint32_t best) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  uint32_t larger, nan;
  asm("set.gt.u32.bf16x2 %0, %1, %2;" : "=r"(larger) : "r"(value), "r"(best));
  asm("set.nan.u32.bf16x2 %0, %1, %1;" : "=r"(nan) : "r"(value));
  return larger | nan;
#else
  return HalvesThat([](float x, float y) { return Exceeds(x, y); }, value, best);
#endif
}

// Of each element that is the same number in both, all bits of its word or half.
template <typename T, int kWidth>
PARTITA_HOST_DEVICE RunWords<T, kWidth> EqualElements(const Run<T, kWidth>& a, const Run<T, kWidth>& b) {
  RunWords<T, kWidth> mask;
  if constexpr (kInPairs<T, kWidth>) {
    const auto x = WordsOf(a), y = WordsOf(b);
    for (int k = 0; k < kWidth / 2; ++k) mask.at[k] = EqualHalves(x.at[k], y.at[k]);
  } else {
    for (int k = 0; k < kWidth; ++k) {
      mask.at[k] = static_cast<Compute<T>>(a.at[k]) == static_cast<Compute<T>>(b.at[k]) ? ~0u : 0;
    }
  }
  return mask;
}

// The elements of a mask; the others become 0.
template <typename T, int kWidth>
PARTITA_HOST_DEVICE Run<T, kWidth> Selected(const Run<T, kWidth>& run, const RunWords<T, kWidth>& mask) {
  Run<T, kWidth> result;
  if constexpr (kInPairs<T, kWidth>) {
    auto words = WordsOf(run);
    for (int k = 0; k < kWidth / 2; ++k) words.at[k] &= mask.at[k];
    memcpy(&result, words.at, sizeof result);
  } else {
    for (int k = 0; k < kWidth; ++k) result.at[k] = mask.at[k] != 0 ? run.at[k] : T(0);
  }
  return result;
}

// best = value where Exceeds(value, best).
template <typename T, int kWidth>
PARTITA_HOST_DEVICE void KeepLarger(const Run<T, kWidth>& values, Run<T, kWidth>& best) {
  if constexpr (kInPairs<T, kWidth>) {
    const auto x = WordsOf(values);
    auto y = WordsOf(best);
    for (int k = 0; k < kWidth / 2; ++k) {
      const uint32_t mask = ExceedingHalves(x.at[k], y.at[k]);
      y.at[k] = (x.at[k] & mask) | (y.at[k] & ~mask);
    }
    memcpy(&best, y.at, sizeof best);
  } else {
    for (int k = 0; k < kWidth; ++k) {
      if (Exceeds(static_cast<Compute<T>>(values.at[k]), static_cast<Compute<T>>(best.at[k]))) {
        best.at[k] = values.at[k];
      }
    }
  }
}

// Of two numbers the larger one, of a number and a NaN the number.
PARTITA_HOST_DEVICE inline uint32_t LargerHalves(uint32_t a, uint32_t b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  uint32_t larger;
  asm("max.bf16x2 %0, %1, %2;" : "=r"(larger) : "r"(a), "r"(b));
  return larger;
#else
  const uint32_t mask = HalvesThat([](float x, float y) { return x > y || y != y; }, a, b);
  return (a & mask) | (b & ~mask);
#endif
}

// largest = the larger one of both, in which a NaN counts for nothing; of zeros of both signs, either.
template <typename T, int kWidth>
PARTITA_HOST_DEVICE void KeepLargest(const Run<T, kWidth>& values, Run<T, kWidth>& largest) {
  if constexpr (kInPairs<T, kWidth>) {
    const auto x = WordsOf(values);
    auto y = WordsOf(largest);
    for (int k = 0; k < kWidth / 2; ++k) y.at[k] = LargerHalves(x.at[k], y.at[k]);
    memcpy(&largest, y.at, sizeof largest);
  } else {
    for (int k = 0; k < kWidth; ++k) {
      largest.at[k] =
          static_cast<T>(std::fmax(static_cast<Compute<T>>(values.at[k]), static_cast<Compute<T>>(largest.at[k])));
    }
  }
}

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_LOOPS_RUNS_H_
