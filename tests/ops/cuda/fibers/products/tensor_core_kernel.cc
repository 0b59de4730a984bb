// Device code, compiled as the .cu files are.
#include "tests/ops/cuda/fibers/products/tensor_core_kernel.h"

#include <cuda_runtime.h>

#include "ops/cuda/loops/sequences/tile_sums.h"

namespace partita::fibers {
namespace {

constexpr unsigned kAll = ~0u;

// ldmatrix .m8n8.x4 .b16, with and without .trans, and mma .m16n8k16 .row.col of bf16: sections "ldmatrix" and "Matrix
// Fragments for mma.m16n8k16 with floating point type" of the PTX ISA.
struct PlayedTensorCore {
  static void Load(const Bf16* row, uint32_t (&to)[4]) {
    const int lane = LaneOfWarp();
    for (int m = 0; m < 4; ++m) {
      const Bf16* const from = Shared(row, 8 * m + lane / 4);
      to[m] = Word(from[lane % 4 * 2], from[lane % 4 * 2 + 1]);
    }
  }

  static void LoadTransposed(const Bf16* row, uint32_t (&to)[4]) {
    const int lane = LaneOfWarp();
    for (int m = 0; m < 4; ++m) {
      const Bf16* const first = Shared(row, 8 * m + lane % 4 * 2);
      const Bf16* const second = Shared(row, 8 * m + lane % 4 * 2 + 1);
      to[m] = Word(first[lane / 4], second[lane / 4]);
    }
  }

  // a0, a1: rows `group` and `group` + 8 of columns 2 `thread` and the next; a2, a3: the same of columns 8 further. b0,
  // b1: rows 2 `thread` and the next, and those 8 further, of column `group`.
  static void MultiplyAdd(float (&sums)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    const int group = LaneOfWarp() / 4, thread = LaneOfWarp() % 4;
    for (int k = 0; k < 16; ++k) {
      const int holder = k % 8 / 2, half = k % 2;
      float rows[2], columns[2];
      for (int r = 0; r < 2; ++r) rows[r] = Half(__shfl_sync(kAll, a[k / 8 * 2 + r], 4 * group + holder), half);
      for (int c = 0; c < 2; ++c) {
        columns[c] = Half(__shfl_sync(kAll, k < 8 ? b0 : b1, 4 * (2 * thread + c) + holder), half);
      }
      for (int i = 0; i < 4; ++i) sums[i] += rows[i / 2] * columns[i % 2];
    }
  }

 private:
  static const Bf16* Shared(const Bf16* row, int lane) {
    return reinterpret_cast<const Bf16*>(__shfl_sync(kAll, reinterpret_cast<uintptr_t>(row), lane));
  }
  static uint32_t Word(Bf16 low, Bf16 high) { return static_cast<uint32_t>(high.bits()) << 16 | low.bits(); }
  static float Half(uint32_t word, int half) {
    return static_cast<float>(Bf16::FromBits(static_cast<uint16_t>(word >> 16 * half)));
  }
};

template <bool kTransposed>
__global__ void TensorCores(int chunks, const Bf16* x, const Bf16* w, float* y) {
  using Layout = TileLayout<Bf16>;
  constexpr int kColumns = kTransposed ? Layout::kDepth : kTileSide;
  constexpr int kPitch = kTransposed ? Layout::kPitch : Layout::kRowPitch;
  __shared__ Layout::Chunk chunk;
  __shared__ float tile[kTileSide * Layout::kSumsPitch];
  const int thread = static_cast<int>(threadIdx.x);
  for (int i = thread; i < kTileSide * Layout::kDepth; i += kTileThreads) {
    chunk.x[i / Layout::kDepth * Layout::kPitch + i % Layout::kDepth] = x[i];
    chunk.w[i / kColumns * kPitch + i % kColumns] = w[i];
  }
  __syncthreads();
  WarpSums<kTransposed, PlayedTensorCore> sums;
  sums.Clear();
  for (int i = 0; i < chunks; ++i) sums.Add(thread, chunk.x, chunk.w);
  sums.StoreTo(thread, tile);
  __syncthreads();
  for (int i = thread; i < kTileElements; i += kTileThreads) {
    y[i] = tile[i / kTileSide * Layout::kSumsPitch + i % kTileSide];
  }
}

}  // namespace

LaunchError LaunchTensorCores(bool transposed, int chunks, const Bf16* x, const Bf16* w, float* y, CudaQueue queue) {
  void* arguments[] = {&chunks, &x, &w, &y};
  const LaunchShape shape{1, kTileThreads, 1};
  return transposed ? queue->Launch(PARTITA_KERNEL_ADDRESS(TensorCores<true>), shape, arguments)
                    : queue->Launch(PARTITA_KERNEL_ADDRESS(TensorCores<false>), shape, arguments);
}

}  // namespace partita::fibers
