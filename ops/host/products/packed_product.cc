// Functions for each kind of vectors by themselves and not by target_clones: gcc 12 takes vectors apart before it
// clones, and before it inlines what has no target of its own.
#include "ops/host/products/packed_product.h"

#include <algorithm>
#include <cstring>

#include "ops/host/kernel/target_clones.h"
#include "ops/host/kernel/turn.h"

namespace partita {
namespace {

using Tile = void (*)(int64_t depth, const float* rows, const float* panel, const TileSums& sums, const float* ahead);

// 12 sums of AVX2 fill its registers, and 24 of AVX-512 most of its: fewer are as fast as long as a core has nothing
// else to do, but where another program shares its units every instruction beside the products counts. A tile is made
// for each number of vectors that a panel may have.
// Sums stay in registers: what compilers do not unroll by themselves goes through memory.
#define PARTITA_UNROLLED _Pragma("GCC unroll 8")
#define PARTITA_TILE(kName, kTarget, kBytes, kRows, kVectors)                                                          \
  kTarget void kName(int64_t depth, const float* rows, const float* panel, const TileSums& sums, const float* ahead) { \
    typedef float Lanes __attribute__((vector_size(kBytes), aligned(4), may_alias));                                   \
    constexpr int64_t kLanes = kBytes / 4, kColumns = kVectors * kLanes, kShare = kColumns * kRows / kTileFetched;     \
    Lanes sum[kRows][kVectors] = {};                                                                                   \
    for (int64_t k = 0; k < depth; ++k, rows += kRows, panel += kColumns, ahead += kShare) {                           \
      __builtin_prefetch(ahead, 0, 2);                                                                                 \
      Lanes columns[kVectors];                                                                                         \
      for (int v = 0; v < kVectors; ++v) columns[v] = *reinterpret_cast<const Lanes*>(panel + v * kLanes);             \
      PARTITA_UNROLLED for (int r = 0; r < kRows; ++r) {                                                               \
        for (int v = 0; v < kVectors; ++v) sum[r][v] += columns[v] * rows[r];                                          \
      }                                                                                                                \
    }                                                                                                                  \
    if (const float* from = sums.from; from != nullptr) {                                                              \
      PARTITA_UNROLLED for (int r = 0; r < kRows; ++r, from += sums.from_stride) {                                     \
        PARTITA_UNROLLED for (int v = 0; v < kVectors; ++v) {                                                          \
          sum[r][v] = *reinterpret_cast<const Lanes*>(from + v * kLanes) + sum[r][v];                                  \
        }                                                                                                              \
      }                                                                                                                \
    }                                                                                                                  \
    float* to = sums.to;                                                                                               \
    PARTITA_UNROLLED for (int r = 0; r < kRows; ++r, to += sums.stride) {                                              \
      PARTITA_UNROLLED for (int v = 0; v < kVectors; ++v) * reinterpret_cast<Lanes*>(to + v * kLanes) = sum[r][v];     \
    }                                                                                                                  \
  }
#define PARTITA_TILES(kName, kTarget, kBytes, kRows)  \
  PARTITA_TILE(kName##Of1, kTarget, kBytes, kRows, 1) \
  PARTITA_TILE(kName##Of2, kTarget, kBytes, kRows, 2) \
  PARTITA_TILE(kName##Of3, kTarget, kBytes, kRows, 3)

PARTITA_TILES(Plain, , 16, 4)
#if defined(__x86_64__)
PARTITA_TILES(Avx2, __attribute__((target("avx2,fma"))), 32, 4)
PARTITA_TILES(Avx512, __attribute__((target("avx512f"))), 64, 8)
#endif
#undef PARTITA_TILES
#undef PARTITA_TILE
#undef PARTITA_UNROLLED

struct Machine {
  PackedTile tile;
  Tile multiply[3];  // a panel of one vector, of two, of three

  Tile Of(int64_t columns) const { return multiply[columns / tile.lanes - 1]; }
};

Machine ThisMachine() {
#if defined(__x86_64__)
  if (HasWideVectors()) return {{8, 48, 16}, {Avx512Of1, Avx512Of2, Avx512Of3}};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {{4, 24, 8}, {Avx2Of1, Avx2Of2, Avx2Of3}};
#endif
  return {{4, 12, 4}, {PlainOf1, PlainOf2, PlainOf3}};
}

const Machine kMachine = ThisMachine();

// Where a step of the depth is one run of memory.
template <int64_t kWidth>
void CopyRuns(const float* from, int64_t stride, int64_t depth, float* to) {
  for (int64_t k = 0; k < depth; ++k) std::copy_n(from + k * stride, kWidth, to + k * kWidth);
}
void CopyRuns(const float* from, int64_t stride, int64_t depth, int64_t width, float* to) {
  if (width == 8) return CopyRuns<8>(from, stride, depth, to);
  if (width == 48) return CopyRuns<48>(from, stride, depth, to);
  for (int64_t k = 0; k < depth; ++k) std::copy_n(from + k * stride, width, to + k * width);
}

constexpr int64_t kLine = 16;  // floats that come together from memory

}  // namespace

PackedTile TileOfThisMachine() { return kMachine.tile; }

void PackPanel(const PackedColumns& columns, int64_t index, MatrixView<float> w, float* to) {
  const int64_t width = columns.Width(index), padded = columns.Padded(index);
  const float* const first = w.data + columns.First(index) * w.column_stride;
  if (width == padded && w.column_stride == 1) return CopyRuns(first, w.row_stride, columns.depth, width, to);
  const bool turned = width == padded && w.row_stride == 1;
  const int64_t done = turned ? columns.depth / kLine * kLine : 0;
  for (int64_t k = 0; k < done; k += kLine) {
    for (int64_t c = 0; c < width; c += kTurnedRows) {
      Turn(first + c * w.column_stride + k, w.column_stride, kLine, to + k * width + c, width);
    }
  }
  for (int64_t k = done; k < columns.depth; ++k) {
    float* const row = to + k * padded;
    for (int64_t c = 0; c < width; ++c) row[c] = first[k * w.row_stride + c * w.column_stride];
    std::fill(row + width, row + padded, 0.0f);
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

void MultiplyTile(int64_t depth, const float* rows, const float* panel, int64_t columns, const TileSums& sums,
                  const float* ahead) {
  kMachine.Of(columns)(depth, rows, panel, sums, ahead);
}

void MultiplyPanel(int64_t groups, int64_t depth, const float* rows, const float* panel, int64_t columns, float* sums,
                   int64_t stride) {
  const int64_t group = kMachine.tile.rows, share = columns * group / kTileFetched;
  const Tile multiply = kMachine.Of(columns);
  for (int64_t k = 0; k < depth; k += kTileDepth) {
    const int64_t part = std::min(kTileDepth, depth - k);
    for (int64_t g = 0; g < groups; ++g) {
      float* const to = sums + g * group * stride;
      multiply(part, rows + (g * depth + k) * group, panel + k * columns, {k > 0 ? to : nullptr, stride, to, stride},
               panel + (k + part) * columns + g * part * share);
    }
  }
}

}  // namespace partita
