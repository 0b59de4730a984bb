// Functions for AVX2 by themselves and not by target_clones: gcc 12 takes vectors apart before it clones.
#include "ops/host/products/weight_tile.h"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#define PARTITA_AVX2 __attribute__((target("avx2,fma")))
#else
#define PARTITA_AVX2
#endif

namespace partita {
namespace {

constexpr int64_t kLanes = 8;
typedef float Lanes __attribute__((vector_size(32), aligned(4), may_alias));

// kRows channels of dy times kVectors vectors of x: at least 8 sums, as many as multiply-adds are under way at a time.
template <int kRows, int kVectors>
PARTITA_AVX2 void Tile(const PixelPanel& panel, const float* dy, bool add, float* dw, int64_t stride) {
  Lanes sum[kRows][kVectors] = {};
  const float* x = panel.x;
  for (int64_t k = 0; k < panel.pixels; ++k, x += kVectors * kLanes) {
    const float* pixel = dy + panel.dy[k];
    Lanes channels[kVectors];
    for (int v = 0; v < kVectors; ++v) channels[v] = *reinterpret_cast<const Lanes*>(x + v * kLanes);
    for (int r = 0; r < kRows; ++r) {
      for (int v = 0; v < kVectors; ++v) sum[r][v] += channels[v] * pixel[r];
    }
  }
  float sums[kRows][kVectors * kLanes];
  std::memcpy(sums, sum, sizeof(sums));
  for (int r = 0; r < kRows; ++r) {
    float* row = dw + r * stride;
    for (int64_t c = 0; c < panel.channels; ++c) row[c] = add ? row[c] + sums[r][c] : sums[r][c];
  }
}

template <int kRows, int kVectors>
void Tiles(const PixelPanel& panel, const float* dy, int64_t out_channels, bool add, float* dw, int64_t stride) {
  int64_t o = 0;
  for (; o + kRows <= out_channels; o += kRows) Tile<kRows, kVectors>(panel, dy + o, add, dw + o * stride, stride);
  for (; o < out_channels; ++o) Tile<1, kVectors>(panel, dy + o, add, dw + o * stride, stride);
}

// Calls f(x, to) for the run's first pixels, as many as there is room for, and takes them from the run.
template <typename F>
inline __attribute__((always_inline)) void Append(PixelPanel& panel, PixelRun& run, const F& f) {
  const int64_t count = std::min(run.pixels, kPanelPixels - panel.pixels), width = panel.width();
  const float* x = run.x;
  float* to = panel.x + panel.pixels * width;
  for (int64_t k = 0; k < count; ++k, x += run.x_step, to += width) f(x, to);
  for (int64_t k = 0; k < count; ++k) panel.dy[panel.pixels + k] = run.dy + k * run.dy_step;
  panel.pixels += count;
  run.x = x;
  run.dy += count * run.dy_step;
  run.pixels -= count;
}

template <int kVectors>
PARTITA_AVX2 void AppendVectors(PixelPanel& panel, PixelRun& run) {
  Append(panel, run, [](const float* x, float* to) PARTITA_AVX2 {
    for (int v = 0; v < kVectors; ++v) {
      *reinterpret_cast<Lanes*>(to + v * kLanes) = *reinterpret_cast<const Lanes*>(x + v * kLanes);
    }
  });
}

// Of channels that do not fill the last vector.
void AppendPadded(PixelPanel& panel, PixelRun& run) {
  const int64_t width = panel.width(), channels = panel.channels;
  Append(panel, run, [=](const float* x, float* to) {
    for (int64_t c = 0; c < width; ++c) to[c] = c < channels ? x[c] : 0.0f;
  });
}

}  // namespace

bool HasWeightTiles() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return false;
#endif
}

void AppendPixels(PixelPanel& panel, PixelRun& run) {
  const auto append = panel.channels % kLanes != 0   ? AppendPadded
                      : panel.channels == 3 * kLanes ? AppendVectors<3>
                      : panel.channels == 2 * kLanes ? AppendVectors<2>
                                                     : AppendVectors<1>;
  append(panel, run);
}

void AddPanel(const PixelPanel& panel, const float* dy, int64_t out_channels, bool add, float* dw, int64_t stride) {
  const auto tiles = panel.width() == 3 * kLanes   ? Tiles<4, 3>
                     : panel.width() == 2 * kLanes ? Tiles<4, 2>
                                                   : Tiles<8, 1>;
  tiles(panel, dy, out_channels, add, dw, stride);
}

}  // namespace partita
