// The sums of a tile of a product, kept in the registers of a block's four warps, each of which has a quarter of the
// tile: bf16 on tensor cores, everything else by one multiply-add after the other along k. For .cu files.
#ifndef PARTITA_OPS_CUDA_LOOPS_SEQUENCES_TILE_SUMS_H_
#define PARTITA_OPS_CUDA_LOOPS_SEQUENCES_TILE_SUMS_H_

#include <cmath>
#include <type_traits>

#include "ops/cuda/launch/product_tiles.h"
#include "ops/cuda/loops/runs.h"

namespace partita {

inline constexpr int kTileThreads = 128;
inline constexpr int kWarpSide = kTileSide / 2;  // of the quarter of a warp

// How operands lie in a block's memory: kDepth of k at a time, 64 bytes of each row of x[m,k] and of w[n,k] if that is
// transposed; else rows of w[k,n]. A pitch is 16 bytes more than a row, so that rows begin in different banks.
template <typename T>
struct TileLayout {
  static constexpr int kVector = 16 / sizeof(T);  // elements of an access
  static constexpr int kDepth = 4 * kVector;
  static constexpr int kPitch = kDepth + kVector;
  static constexpr int kRowPitch = kTileSide + kVector;  // of w[k,n]
  static constexpr int kSumsPitch = kTileSide + 16 / sizeof(Compute<T>);

  static_assert(kDepth * kRowPitch <= kTileSide * kPitch);
  struct Chunk {
    alignas(128) T x[kTileSide * kPitch];
    alignas(128) T w[kTileSide * kPitch];
  };
};

// A lane has the sums of 8 rows by 4 columns, spread such that the lanes of a warp read from different banks.
template <typename T, bool kTransposed>
class LaneSums {
  using A = Compute<T>;

 public:
  PARTITA_HOST_DEVICE void Clear() {
    for (int i = 0; i < kRows; ++i) {
      for (int j = 0; j < kColumns; ++j) sums_[i][j] = A(0);
    }
  }

  PARTITA_HOST_DEVICE void Add(int thread, const T* x, const T* w) {
    const T* const rows = x + Row(thread, 0) * Layout::kPitch;
#ifdef __CUDA_ARCH__
#pragma unroll 2
#endif
    for (int k = 0; k < Layout::kDepth; k += kRun) {
      A factors[kRun][kColumns];
      LoadFactors(thread, w, k, factors);
      for (int i = 0; i < kRows; ++i) {
        A values[kRun];
        Widen(LoadRun<kRun>(rows + i * kRowStep * Layout::kPitch + k), values);
        for (int s = 0; s < kRun; ++s) {
          for (int j = 0; j < kColumns; ++j) sums_[i][j] = MultiplyAdd(values[s], factors[s][j], sums_[i][j]);
        }
      }
    }
  }

  PARTITA_HOST_DEVICE void StoreTo(int thread, A* tile) const {
    for (int i = 0; i < kRows; ++i) {
      for (int j = 0; j < kColumns; ++j) {
        tile[Row(thread, i) * Layout::kSumsPitch + Column(thread, j)] = sums_[i][j];
      }
    }
  }

 private:
  using Layout = TileLayout<T>;
  static constexpr int kRows = 8, kColumns = 4, kRowStep = kWarpSide / kRows;
  static constexpr int kRun = Layout::kVector < 4 ? Layout::kVector : 4;

  // One rounding, whatever the compiler may contract.
  PARTITA_HOST_DEVICE static float MultiplyAdd(float a, float b, float c) { return fmaf(a, b, c); }
  PARTITA_HOST_DEVICE static double MultiplyAdd(double a, double b, double c) { return fma(a, b, c); }

  PARTITA_HOST_DEVICE static int Row(int thread, int i) {
    return thread / 64 * kWarpSide + thread % 32 / 8 + kRowStep * i;
  }
  PARTITA_HOST_DEVICE static int Column(int thread, int j) {
    const int first = thread / 32 % 2 * kWarpSide, lane = thread % 8;
    return kTransposed ? first + lane + 8 * j : first + kColumns * lane + j;
  }

  PARTITA_HOST_DEVICE static void LoadFactors(int thread, const T* w, int k, A (&factors)[kRun][kColumns]) {
    A values[kRun];
    if constexpr (kTransposed) {
      for (int j = 0; j < kColumns; ++j) {
        Widen(LoadRun<kRun>(w + Column(thread, j) * Layout::kPitch + k), values);
        for (int s = 0; s < kRun; ++s) factors[s][j] = values[s];
      }
    } else {
      for (int s = 0; s < kRun; ++s) {
        for (int j = 0; j < kColumns; j += kRun) {
          Widen(LoadRun<kRun>(w + (k + s) * Layout::kRowPitch + Column(thread, j)), values);
          for (int e = 0; e < kRun; ++e) factors[s][j + e] = values[e];
        }
      }
    }
  }

  A sums_[kRows][kColumns];
};

// Of bf16: a warp has 2 x 4 tiles of 16 rows by 8 columns. Instructions:
//   Load(row, to)               four matrices of 8 x 8; lane i points to row i % 8 of matrix i / 8. A lane gets, as
//                               word m, elements 2 (lane % 4) and the next of row lane / 4 of matrix m.
//   LoadTransposed(row, to)     as Load, of the transposed matrices
//   MultiplyAdd(sums, a, b, c)  of the products of a [16,16] and a [16,8]. Words of the first: its quarters, the upper
//                               left, the lower left, the upper right, the lower right one. Of the second, transposed:
//                               b is its upper half, c its lower. Sums: those of row lane / 4 in columns 2 (lane % 4)
//                               and the next, then those of the row 8 below.
template <bool kTransposed, typename Instructions>
class WarpSums {
 public:
  PARTITA_HOST_DEVICE void Clear() {
    for (auto& row : sums_) {
      for (auto& tile : row) {
        for (float& sum : tile) sum = 0;
      }
    }
  }

  PARTITA_HOST_DEVICE void Add(int thread, const Bf16* x, const Bf16* w) {
    const int lane = thread % 32, row = FirstRow(thread) + lane % 16, matrix = lane / 8;
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int k = 0; k < Layout::kDepth; k += kSide) {
      uint32_t a[2][4];
      for (int i = 0; i < 2; ++i) {
        Instructions::Load(x + (row + kSide * i) * Layout::kPitch + k + lane / 16 * 8, a[i]);
      }
      for (int j = 0; j < 2; ++j) {
        const int column = FirstColumn(thread) + kSide * j + matrix / 2 * 8, depth = k + matrix % 2 * 8;
        uint32_t b[4];  // two tiles, each its upper and its lower half
        if constexpr (kTransposed) {
          Instructions::Load(w + (column + lane % 8) * Layout::kPitch + depth, b);
        } else {
          Instructions::LoadTransposed(w + (depth + lane % 8) * Layout::kRowPitch + column, b);
        }
        for (int i = 0; i < 2; ++i) {
          Instructions::MultiplyAdd(sums_[i][2 * j], a[i], b[0], b[1]);
          Instructions::MultiplyAdd(sums_[i][2 * j + 1], a[i], b[2], b[3]);
        }
      }
    }
  }

  PARTITA_HOST_DEVICE void StoreTo(int thread, float* tile) const {
    const int lane = thread % 32, row = FirstRow(thread) + lane / 4, column = FirstColumn(thread) + lane % 4 * 2;
    for (int i = 0; i < 2; ++i) {
      for (int j = 0; j < 4; ++j) {
        float* const at = tile + (row + kSide * i) * Layout::kSumsPitch + column + 8 * j;
        at[0] = sums_[i][j][0];
        at[1] = sums_[i][j][1];
        at[8 * Layout::kSumsPitch] = sums_[i][j][2];
        at[8 * Layout::kSumsPitch + 1] = sums_[i][j][3];
      }
    }
  }

 private:
  using Layout = TileLayout<Bf16>;
  static constexpr int kSide = 16;

  PARTITA_HOST_DEVICE static int FirstRow(int thread) { return thread / 64 * kWarpSide; }
  PARTITA_HOST_DEVICE static int FirstColumn(int thread) { return thread / 32 % 2 * kWarpSide; }

  float sums_[2][4][4];
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800

struct TensorCore {
  __device__ static void Load(const Bf16* row, uint32_t (&to)[4]) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(row)))
                 : "memory");
  }
  __device__ static void LoadTransposed(const Bf16* row, uint32_t (&to)[4]) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(row)))
                 : "memory");
  }
  __device__ static void MultiplyAdd(float (&sums)[4], const uint32_t (&a)[4], uint32_t b, uint32_t c) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b), "r"(c));
  }
};

template <typename T, bool kTransposed>
using TileSums =
    std::conditional_t<std::is_same_v<T, Bf16>, WarpSums<kTransposed, TensorCore>, LaneSums<T, kTransposed>>;

#else  // what the tensor cores compute, but for roundings

template <typename T, bool kTransposed>
using TileSums = LaneSums<T, kTransposed>;

#endif

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_LOOPS_SEQUENCES_TILE_SUMS_H_
