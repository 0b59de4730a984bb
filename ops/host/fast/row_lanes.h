// Sums and the largest value of one row of floats, in 16 lanes that are joined at its end.
#ifndef PARTITA_OPS_HOST_FAST_ROW_LANES_H_
#define PARTITA_OPS_HOST_FAST_ROW_LANES_H_

#include <cstdint>
#include <limits>

#include "ops/functors/maximum.h"
#include "ops/host/fast/lanes.h"

namespace partita {

inline constexpr int kRowLanes = 16;
using RowLanes = Floats<kRowLanes>::Type;

PARTITA_INLINE float TotalOf(const RowLanes& lanes) {
  float half[kRowLanes];
  Store(half, lanes);
  for (int width = kRowLanes / 2; width > 0; width /= 2) {
    for (int l = 0; l < width; ++l) half[l] += half[l + width];
  }
  return half[0];
}

// As RowMaximum (ops/functors/softmax.h): of NaNs one wins.
PARTITA_INLINE float LargestOf(const float* x, int64_t n) {
  RowLanes lanes = RowLanes{} - std::numeric_limits<float>::infinity();
  int64_t i = 0;
  for (; i + kRowLanes <= n; i += kRowLanes) {
    RowLanes v;
    Load(x + i, v);
    lanes = ((v > lanes) | (v != v)) ? v : lanes;
  }
  float largest = lanes[0];
  for (int l = 1; l < kRowLanes; ++l) {
    if (Exceeds<float>(lanes[l], largest)) largest = lanes[l];
  }
  for (; i < n; ++i) {
    if (Exceeds(x[i], largest)) largest = x[i];
  }
  return largest;
}

PARTITA_INLINE float SumOf(const float* x, int64_t n) {
  RowLanes sums{};
  int64_t i = 0;
  for (; i + kRowLanes <= n; i += kRowLanes) {
    RowLanes v;
    Load(x + i, v);
    sums += v;
  }
  float sum = TotalOf(sums);
  for (; i < n; ++i) sum += x[i];
  return sum;
}

PARTITA_INLINE float SumOfProducts(const float* x, const float* y, int64_t n) {
  RowLanes sums{};
  int64_t i = 0;
  for (; i + kRowLanes <= n; i += kRowLanes) {
    RowLanes v, w;
    Load(x + i, v);
    Load(y + i, w);
    sums += v * w;
  }
  float sum = TotalOf(sums);
  for (; i < n; ++i) sum += x[i] * y[i];
  return sum;
}

}  // namespace partita

#endif  // PARTITA_OPS_HOST_FAST_ROW_LANES_H_
