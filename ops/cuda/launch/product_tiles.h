// How a product of few rows is cut into blocks: by sizes alone, so the bits are the same on every GPU.
#ifndef PARTITA_OPS_CUDA_LAUNCH_PRODUCT_TILES_H_
#define PARTITA_OPS_CUDA_LAUNCH_PRODUCT_TILES_H_

#include <cstdint>

#include "ops/cuda/launch/contraction.h"
#include "ops/functors/geometry.h"

namespace partita {

inline constexpr int kTileSide = 64;
inline constexpr int kTileElements = kTileSide * kTileSide;

// Tiles of y[m,n], each computed by `parts` blocks: a block adds up part_k of the k products of each element.
struct ProductTiles {
  int64_t m = 0, n = 0, k = 0;
  int64_t row_tiles = 0, column_tiles = 0;
  int64_t parts = 1, part_k = 0;

  PARTITA_HOST_DEVICE int64_t tiles() const { return row_tiles * column_tiles; }
  PARTITA_HOST_DEVICE int64_t blocks() const { return tiles() * parts; }

  // Workspace for the parts' sums, and counters by which the last part of a tile knows that it is the last.
  int64_t partial_elements() const { return parts > 1 ? blocks() * kTileElements : 0; }
  int64_t counters() const { return parts > 1 ? tiles() : 0; }
};

// A GPU of today has about as many multiprocessors.
inline constexpr int64_t kProductBlocks = 128;

inline ProductTiles MakeProductTiles(const launch::MatMulSizes& sizes) {
  constexpr int64_t kLeastPart = 128, kStep = 32;  // kStep: a multiple of what a block loads at a time, in any dtype
  ProductTiles result{sizes.m, sizes.n, sizes.k, CeilDivide(sizes.m, kTileSide), CeilDivide(sizes.n, kTileSide)};
  const int64_t most = Larger(1, sizes.k / kLeastPart);
  const int64_t parts = Larger(1, Smaller(most, kProductBlocks / Larger(1, result.tiles())));
  result.part_k = CeilDivide(CeilDivide(sizes.k, parts), kStep) * kStep;
  result.parts = Larger(1, CeilDivide(sizes.k, Larger(1, result.part_k)));
  return result;
}

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_LAUNCH_PRODUCT_TILES_H_
