// Functions for each kind of vectors by themselves and not by target_clones: gcc 12 takes vectors apart before it
// clones, and before it inlines what has no target of its own.
#include "ops/host/products/packed_product.h"

#include <algorithm>
#include <cstring>

#include "ops/host/kernel/target_clones.h"
#include "ops/host/kernel/turn.h"

namespace partita {
namespace {

constexpr int64_t kDepth = 256;  // of a panel's part that stays in the first cache while all rows go by

using Multiply = void (*)(int64_t groups, int64_t depth, const float* rows, const float* panel, float* sums,
                          int64_t stride);

// A tile: sums = or += rows x panel for a part of the depth. Then all groups of rows, part by part, while what follows
// of the panels comes near: each group fetches its share, as of 32 rows. 12 sums of AVX2 fill its registers; 16 of
// AVX-512 are as fast as the 24 that would, and panels of 32 columns leave nothing of most layers.
#define PARTITA_PANEL(kName, kTarget, kBytes, kRows, kVectors)                                                    \
  kTarget void kName##Tile(int64_t depth, const float* rows, const float* panel, bool add, float* sums,           \
                           int64_t stride, const float* ahead) {                                                  \
    typedef float Lanes __attribute__((vector_size(kBytes), aligned(4), may_alias));                              \
    constexpr int64_t kLanes = kBytes / 4, kColumns = kVectors * kLanes, kShare = kColumns * kRows / 32;          \
    Lanes sum[kRows][kVectors] = {};                                                                              \
    for (int64_t k = 0; k < depth; ++k, rows += kRows, panel += kColumns, ahead += kShare) {                      \
      __builtin_prefetch(ahead, 0, 2);                                                                            \
      Lanes columns[kVectors];                                                                                    \
      for (int v = 0; v < kVectors; ++v) columns[v] = *reinterpret_cast<const Lanes*>(panel + v * kLanes);        \
      for (int r = 0; r < kRows; ++r) {                                                                           \
        for (int v = 0; v < kVectors; ++v) sum[r][v] += columns[v] * rows[r];                                     \
      }                                                                                                           \
    }                                                                                                             \
    for (int r = 0; r < kRows; ++r) {                                                                             \
      for (int v = 0; v < kVectors; ++v) {                                                                        \
        Lanes* const to = reinterpret_cast<Lanes*>(sums + r * stride + v * kLanes);                               \
        *to = add ? *to + sum[r][v] : sum[r][v];                                                                  \
      }                                                                                                           \
    }                                                                                                             \
  }                                                                                                               \
  void kName(int64_t groups, int64_t depth, const float* rows, const float* panel, float* sums, int64_t stride) { \
    constexpr int64_t kColumns = kVectors * kBytes / 4, kShare = kColumns * kRows / 32;                           \
    for (int64_t k = 0; k < depth; k += kDepth) {                                                                 \
      const int64_t part = std::min(kDepth, depth - k);                                                           \
      for (int64_t g = 0; g < groups; ++g) {                                                                      \
        kName##Tile(part, rows + (g * depth + k) * kRows, panel + k * kColumns, k > 0, sums + g * kRows * stride, \
                    stride, panel + (k + part) * kColumns + g * part * kShare);                                   \
      }                                                                                                           \
    }                                                                                                             \
  }

PARTITA_PANEL(Plain, , 16, 4, 3)
#if defined(__x86_64__)
PARTITA_PANEL(Avx2, __attribute__((target("avx2,fma"))), 32, 4, 3)
PARTITA_PANEL(Avx512, __attribute__((target("avx512f"))), 64, 8, 2)
#endif
#undef PARTITA_PANEL

struct Machine {
  PackedTile tile;
  Multiply multiply;
};

Machine ThisMachine() {
#if defined(__x86_64__)
  if (HasWideVectors()) return {{8, 32}, Avx512};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {{4, 24}, Avx2};
#endif
  return {{4, 12}, Plain};
}

const Machine kMachine = ThisMachine();

constexpr int64_t kLine = 16;  // floats that come together from memory

}  // namespace

PackedTile TileOfThisMachine() { return kMachine.tile; }

void PackPanel(const PackedColumns& columns, int64_t index, MatrixView<float> w, float* to) {
  const int64_t width = columns.Width(index);
  const float* const first = w.data + columns.First(index) * w.column_stride;
  if (width == columns.panel && w.column_stride == 1) {
    for (int64_t k = 0; k < columns.depth; ++k) std::copy_n(first + k * w.row_stride, width, to + k * width);
    return;
  }
  const bool turned = width == columns.panel && w.row_stride == 1;
  const int64_t done = turned ? columns.depth / kLine * kLine : 0;
  for (int64_t k = 0; k < done; k += kLine) {
    for (int64_t c = 0; c < width; c += kTurnedRows) {
      Turn(first + c * w.column_stride + k, w.column_stride, kLine, to + k * width + c, width);
    }
  }
  for (int64_t k = done; k < columns.depth; ++k) {
    float* const row = to + k * columns.panel;
    for (int64_t c = 0; c < width; ++c) row[c] = first[k * w.row_stride + c * w.column_stride];
    std::fill(row + width, row + columns.panel, 0.0f);
  }
}

void PackRows(const PackedRows& rows, int64_t row, int64_t count, int64_t k, int64_t n, const float* from,
              int64_t stride, float* to) {
  for (int64_t r = 0; r < count;) {
    float* const first = to + rows.At(row + r, k);
    if ((row + r) % kTurnedRows == 0 && r + kTurnedRows <= count) {
      Turn(from + r * stride, stride, n, first, rows.group);
      r += kTurnedRows;
    } else {
      for (int64_t i = 0; i < n; ++i) first[i * rows.group] = from[r * stride + i];
      ++r;
    }
  }
}

void MultiplyPanel(int64_t groups, int64_t depth, const float* rows, const float* panel, float* sums, int64_t stride) {
  kMachine.multiply(groups, depth, rows, panel, sums, stride);
}

}  // namespace partita
