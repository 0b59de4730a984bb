// A product of few rows and what follows each of its sums, in one launch. For .cu files; as loops.h, on the CPU as
// well.
//
//   MultiplyTiles  body(row, item, sums) for each row of y[m,n] = x[m,k] w[k,n] and each Body::kColumns columns of it,
//                  in any order; `sums` are those columns of y
//
// A block has a tile of y and loads operands while it multiplies those it loaded before. Where the tiles are fewer than
// a GPU's multiprocessors, several blocks each add up a part of k and write their sums to the workspace. The last of
// them, which a counter finds (column_sums.h), adds the parts up in their order.
#ifndef PARTITA_OPS_CUDA_LOOPS_SEQUENCES_PRODUCT_TILES_H_
#define PARTITA_OPS_CUDA_LOOPS_SEQUENCES_PRODUCT_TILES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "ops/cuda/loops/column_sums.h"
#include "ops/cuda/loops/loops.h"
#include "ops/cuda/loops/sequences/tile_sums.h"

namespace partita {

inline constexpr int kTileStages = 4;  // chunks of k that a block has in memory, all but one of them on their way

// 16 bytes into a block's memory, zeros if `inside` is false; WaitForCopies waits until at most `kPending` of the
// groups that EndCopies closed are on their way.
PARTITA_HOST_DEVICE inline void CopyVector(void* to, const void* from, bool inside) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(inside ? 16 : 0)
               : "memory");
#else
  using Vector = Run<uint32_t, 4>;
  *static_cast<Vector*>(to) = inside ? *static_cast<const Vector*>(from) : Vector{};
#endif
}
PARTITA_HOST_DEVICE inline void EndCopies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
template <int kPending>
PARTITA_HOST_DEVICE inline void WaitForCopies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
#endif
}

// Which tile a block has, and which part of k.
struct PartOfTile {
  int64_t tile, part;
  int64_t first_row, first_column;
  int64_t first_k, end_k;
};

// What each thread of a block does between two barriers.
template <typename T, bool kTransposed, typename Body>
struct ProductSteps {
  using A = Compute<T>;
  using Layout = TileLayout<T>;
  using Sums = TileSums<T, kTransposed>;
  union Memory {
    typename Layout::Chunk chunks[kTileStages];
    A sums[kTileSide * Layout::kSumsPitch];
  };

  ProductTiles tiles;
  const T *x, *w;
  A* partial;  // [tile][part][kTileElements]
  int64_t first_counter;
  bool vectors;  // whether rows of both operands are vectors
  Body body;

  // Blocks side by side have the same columns of w. Blocks are counted in 32 bits, which divide fast.
  PARTITA_HOST_DEVICE PartOfTile At(uint32_t block) const {
    const auto parts = static_cast<uint32_t>(tiles.parts), row_tiles = static_cast<uint32_t>(tiles.row_tiles);
    const uint32_t tile = block / parts, row_tile = tile % row_tiles, column_tile = tile / row_tiles;
    const int64_t part = block % parts, first_k = part * tiles.part_k;
    return {int64_t{tile},
            part,
            int64_t{row_tile} * kTileSide,
            int64_t{column_tile} * kTileSide,
            first_k,
            Smaller(tiles.k, first_k + tiles.part_k)};
  }
  PARTITA_HOST_DEVICE static int Chunks(const PartOfTile& at) {
    return static_cast<int>((static_cast<uint32_t>(at.end_k - at.first_k) + Layout::kDepth - 1) / Layout::kDepth);
  }

  // What lies outside of the operands is zero.
  PARTITA_HOST_DEVICE void Load(const PartOfTile& at, int chunk, int thread, Memory& memory) const {
    constexpr int kOfChunk = kTileSide * Layout::kDepth / Layout::kVector;
    typename Layout::Chunk& to = memory.chunks[chunk % kTileStages];
    const int64_t k = at.first_k + int64_t{chunk} * Layout::kDepth;
    for (int v = thread; v < kOfChunk; v += kTileThreads) {
      LoadVector<Layout::kDepth, Layout::kPitch>(x, at.first_row, tiles.m, k, at.end_k, tiles.k, v, to.x);
      if constexpr (kTransposed) {
        LoadVector<Layout::kDepth, Layout::kPitch>(w, at.first_column, tiles.n, k, at.end_k, tiles.k, v, to.w);
      } else {
        LoadVector<kTileSide, Layout::kRowPitch>(w, k, at.end_k, at.first_column, tiles.n, tiles.n, v, to.w);
      }
    }
  }

  PARTITA_HOST_DEVICE void Multiply(const PartOfTile& at, int chunk, int thread, const Memory& memory,
                                    Sums& sums) const {
    if (at.first_row + thread / 64 * kWarpSide >= tiles.m) return;  // a warp without rows
    const typename Layout::Chunk& from = memory.chunks[chunk % kTileStages];
    sums.Add(thread, from.x, from.w);
  }

  PARTITA_HOST_DEVICE void StorePartial(const PartOfTile& at, int thread, const Memory& memory) const {
    A* const to = partial + (at.tile * tiles.parts + at.part) * kTileElements;
    for (int e = thread; e < kTileElements && Inside(at, e); e += kTileThreads) to[e] = memory.sums[InMemory(e)];
  }

  PARTITA_HOST_DEVICE void AddPartials(const PartOfTile& at, int thread, Memory& memory) const {
    const A* const from = partial + at.tile * tiles.parts * kTileElements;
    for (int e = thread; e < kTileElements && Inside(at, e); e += kTileThreads) {
      A sum = from[e];
      for (int64_t part = 1; part < tiles.parts; ++part) sum += from[part * kTileElements + e];
      memory.sums[InMemory(e)] = sum;
    }
  }

  PARTITA_HOST_DEVICE void Finish(const PartOfTile& at, int thread, const Memory& memory) const {
    constexpr int kItems = kTileSide / Body::kColumns;
    for (int i = thread; i < kTileSide * kItems; i += kTileThreads) {
      const int row = i / kItems, column = i % kItems * Body::kColumns;
      if (at.first_row + row >= tiles.m || at.first_column + column >= tiles.n) continue;
      body(at.first_row + row, (at.first_column + column) / Body::kColumns,
           memory.sums + row * Layout::kSumsPitch + column);
    }
  }

 private:
  // The v-th vector of a block's rows of `kWidth` elements, from rows and columns of a matrix that begin and end there.
  template <int kWidth, int kPitch>
  PARTITA_HOST_DEVICE void LoadVector(const T* from, int64_t first_row, int64_t rows, int64_t first_column,
                                      int64_t columns, int64_t pitch, int v, T* to) const {
    constexpr int kVectors = kWidth / Layout::kVector;
    const int r = v / kVectors, c = v % kVectors * Layout::kVector;
    const int64_t row = first_row + r, column = first_column + c;
    T* const target = to + r * kPitch + c;
    if (vectors) {
      const bool inside = row < rows && column < columns;
      CopyVector(target, inside ? from + row * pitch + column : from, inside);
      return;
    }
    for (int e = 0; e < Layout::kVector; ++e) {
      target[e] = row < rows && column + e < columns ? from[row * pitch + column + e] : T(0.0f);
    }
  }

  // Rows lie behind each other, so that what follows a row outside is outside as well.
  PARTITA_HOST_DEVICE bool Inside(const PartOfTile& at, int element) const {
    return at.first_row + element / kTileSide < tiles.m;
  }
  PARTITA_HOST_DEVICE static int InMemory(int element) {
    return element / kTileSide * Layout::kSumsPitch + element % kTileSide;
  }
};

#ifdef __CUDACC__

template <typename Steps>
__global__ void __launch_bounds__(kTileThreads) ProductTilesKernel(int64_t, const __grid_constant__ Steps steps) {
  __shared__ typename Steps::Memory memory;
  const PartOfTile at = steps.At(blockIdx.x);
  const int thread = static_cast<int>(threadIdx.x), chunks = Steps::Chunks(at);
  typename Steps::Sums sums;
  sums.Clear();
  for (int chunk = 0; chunk < kTileStages - 1; ++chunk) {
    if (chunk < chunks) steps.Load(at, chunk, thread, memory);
    EndCopies();
  }
  PARTITA_NOT_UNROLLED
  for (int chunk = 0; chunk < chunks; ++chunk) {
    WaitForCopies<kTileStages - 2>();
    __syncthreads();  // all have copied this chunk, and multiplied the one that the next copies overwrite
    if (chunk + kTileStages - 1 < chunks) steps.Load(at, chunk + kTileStages - 1, thread, memory);
    EndCopies();
    steps.Multiply(at, chunk, thread, memory, sums);
  }
  __syncthreads();  // the sums overwrite the operands
  sums.StoreTo(thread, memory.sums);
  __syncthreads();
  if (steps.tiles.parts > 1) {
    steps.StorePartial(at, thread, memory);
    if (!IsLast(steps.first_counter + at.tile, steps.tiles.parts)) return;
    steps.AddPartials(at, thread, memory);
    __syncthreads();
  }
  steps.Finish(at, thread, memory);
}

template <typename Steps>
LaunchError LaunchTiles(const Steps& steps, CudaQueue queue) {
  const int64_t blocks = steps.tiles.blocks();
  return LaunchLoop<Steps, ProductTilesKernel<Steps>>({blocks, kTileThreads, 1}, blocks, steps, queue);
}

#else

template <typename Steps>
LaunchError LaunchTiles(const Steps& steps, CudaQueue queue) {
  const int64_t blocks = steps.tiles.blocks();
  if (const LaunchError error = Ask(blocks, kTileThreads, 1, queue); error != kLaunched) return error;
  const auto for_threads = [](const auto& f) {
    for (int thread = 0; thread < kTileThreads; ++thread) f(thread);
  };
  const auto memory = std::make_unique<typename Steps::Memory>();
  std::vector<typename Steps::Sums> sums(kTileThreads);
  std::vector<int64_t> arrived(static_cast<size_t>(steps.tiles.tiles()));
  for (int64_t block = blocks; block-- > 0;) {
    const PartOfTile at = steps.At(static_cast<uint32_t>(block));
    for (auto& of_thread : sums) of_thread.Clear();
    for (int chunk = 0; chunk < Steps::Chunks(at); ++chunk) {
      for_threads([&](int thread) { steps.Load(at, chunk, thread, *memory); });
      for_threads([&](int thread) { steps.Multiply(at, chunk, thread, *memory, sums[thread]); });
    }
    for_threads([&](int thread) { sums[thread].StoreTo(thread, memory->sums); });
    if (steps.tiles.parts > 1) {
      for_threads([&](int thread) { steps.StorePartial(at, thread, *memory); });
      if (++arrived[static_cast<size_t>(at.tile)] < steps.tiles.parts) continue;
      for_threads([&](int thread) { steps.AddPartials(at, thread, *memory); });
    }
    for_threads([&](int thread) { steps.Finish(at, thread, *memory); });
  }
  return kLaunched;
}

#endif  // __CUDACC__

// `scratch`: for MakeProductTiles(sizes).
template <typename T, bool kTransposed, typename Body>
LaunchError MultiplyTiles(const launch::MatMulSizes& sizes, const T* x, const T* w, const SumScratch& scratch,
                          const Body& body, CudaQueue queue) {
  const ProductTiles tiles = MakeProductTiles(sizes);
  if (tiles.blocks() == 0) return kLaunched;
  const auto whole = [](int64_t bytes) { return bytes % 16 == 0; };
  const bool vectors = whole(reinterpret_cast<intptr_t>(x)) && whole(reinterpret_cast<intptr_t>(w)) &&
                       whole(sizes.k * int64_t{sizeof(T)}) &&
                       whole((kTransposed ? sizes.k : sizes.n) * int64_t{sizeof(T)});
  const ProductSteps<T, kTransposed, Body> steps{
      tiles, x, w, As<Compute<T>>(scratch.workspace), scratch.first_counter, vectors, body};
  return LaunchTiles(steps, queue);
}

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_LOOPS_SEQUENCES_PRODUCT_TILES_H_
