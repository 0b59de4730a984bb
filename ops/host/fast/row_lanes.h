// Sums and the largest value of one row of floats, in 16 lanes that are joined at its end.
//
// Lanes of sums are plain arrays, which a compiler turns into vectors of any length that the machine has. Vectors
// longer than the machine's, and choices between lanes, become loops over single floats.
#ifndef PARTITA_OPS_HOST_FAST_ROW_LANES_H_
#define PARTITA_OPS_HOST_FAST_ROW_LANES_H_

#include <algorithm>
#include <cstdint>
#include <limits>

#include "ops/host/fast/lanes.h"

namespace partita {

inline constexpr int kRowLanes = 16;

PARTITA_INLINE float TotalOf(const float (&lanes)[kRowLanes]) {
  float half[kRowLanes / 2];
  for (int l = 0; l < kRowLanes / 2; ++l) half[l] = lanes[l] + lanes[l + kRowLanes / 2];
  for (int width = kRowLanes / 4; width > 0; width /= 2) {
    for (int l = 0; l < width; ++l) half[l] += half[l + width];
  }
  return half[0];
}

// Adds f(i) from `begin` on in turns; returns where less than a turn is left.
template <typename T, typename F>
PARTITA_INLINE int64_t AddToLanes(int64_t begin, int64_t end, const F& f, T (&lanes)[kRowLanes]) {
  int64_t i = begin;
  for (; i + kRowLanes <= end; i += kRowLanes) {
    for (int l = 0; l < kRowLanes; ++l) lanes[l] += f(i + l);
  }
  return i;
}

// The sum of f(i) over 0 <= i < n.
template <typename F>
PARTITA_INLINE float SumOver(int64_t n, const F& f) {
  float lanes[kRowLanes] = {};
  int64_t i = AddToLanes(0, n, f, lanes);
  float sum = TotalOf(lanes);
  for (; i < n; ++i) sum += f(i);
  return sum;
}

// Elements of a long row between two fetches: as many lines as a core waits for at a time.
inline constexpr int64_t kFetchedElements = 256;

// Brings what lies at [from, from + n) nearer. The address may be anything: nothing is read.
PARTITA_INLINE void FetchRow(const float* from, int64_t n) {
  for (int64_t i = 0; i < n; i += 16) __builtin_prefetch(from + i, 0, 2);
}

// The same in double: of floats f(i) whose row is long, as vocabularies are, those of a piece are added as such. Beside
// element i, what lies at ahead + i comes nearer; null: nothing does.
template <typename F>
PARTITA_INLINE double LongSumOver(int64_t n, const F& f, const float* ahead = nullptr) {
  constexpr int64_t kPiece = 2048;
  static_assert(kPiece % kFetchedElements == 0 && kFetchedElements % kRowLanes == 0);
  double sum = 0;
  for (int64_t begin = 0; begin < n; begin += kPiece) {
    const int64_t end = std::min(n, begin + kPiece);
    float lanes[kRowLanes] = {};
    for (int64_t first = begin; first < end; first += kFetchedElements) {
      const int64_t last = std::min(end, first + kFetchedElements);
      if (ahead != nullptr) FetchRow(ahead + first, last - first);
      for (int64_t i = AddToLanes(first, last, f, lanes); i < last; ++i) lanes[0] += f(i);
    }
    for (const float each : lanes) sum += double{each};
  }
  return sum;
}

// The sum of doubles f(i).
template <typename F>
PARTITA_INLINE double ExactSumOver(int64_t n, const F& f) {
  double lanes[kRowLanes] = {};
  int64_t i = AddToLanes(0, n, f, lanes);
  double sum = 0;
  for (const double each : lanes) sum += each;
  for (; i < n; ++i) sum += f(i);
  return sum;
}

// Skips NaNs: every other result of the row is NaN then. -infinity for an empty row.
PARTITA_INLINE float LargestOf(const float* x, int64_t n) {
  constexpr int kLanes = 4, kVectors = kRowLanes / kLanes;  // of 16 bytes: every machine has them
  using Lanes = Floats<kLanes>::Type;
  Lanes lanes[kVectors];
  for (Lanes& each : lanes) each = Lanes{} - std::numeric_limits<float>::infinity();
  int64_t i = 0;
  for (; i + kRowLanes <= n; i += kRowLanes) {
    for (int v = 0; v < kVectors; ++v) {
      Lanes next;
      Load(x + i + v * kLanes, next);
      lanes[v] = next > lanes[v] ? next : lanes[v];
    }
  }
  float largest = -std::numeric_limits<float>::infinity();
  for (const Lanes& each : lanes) {
    for (int l = 0; l < kLanes; ++l) largest = std::max(largest, each[l]);
  }
  for (; i < n; ++i) largest = x[i] > largest ? x[i] : largest;
  return largest;
}

}  // namespace partita

#endif  // PARTITA_OPS_HOST_FAST_ROW_LANES_H_
