// How reductions are cut into blocks: by sizes alone, never by the device, so the bits are the same on every GPU.
#ifndef PARTITA_OPS_CUDA_LAUNCH_REDUCTION_SIZES_H_
#define PARTITA_OPS_CUDA_LAUNCH_REDUCTION_SIZES_H_

#include <cstdint>

#include "ops/functors/geometry.h"

namespace partita {

inline constexpr int64_t kReductionBlocks = 1024;  // enough to fill a GPU several times

// Rows of so few classes are one thread's work; longer ones are a block's.
inline constexpr int64_t kFewClasses = 32;

// The rows of [groups][rows][channels], cut into chunks; a block sums a chunk of a tile of `lanes` channels.
struct ColumnChunks {
  int64_t groups = 1, rows = 0, channels = 0;
  int lanes = 32;
  int64_t tiles = 0;  // of `lanes` channels
  int64_t chunks = 1;
  int64_t chunk_rows = 1;

  PARTITA_HOST_DEVICE int64_t blocks() const { return groups * chunks * tiles; }
  int64_t totals_bytes(int sums) const { return groups * sums * channels * static_cast<int64_t>(sizeof(double)); }
  int64_t partial_bytes(int sums) const {
    return groups * chunks * sums * channels * static_cast<int64_t>(sizeof(double));
  }
};

inline ColumnChunks MakeColumnChunks(int64_t groups, int64_t rows, int64_t channels) {
  ColumnChunks result;
  result.groups = groups;
  result.rows = rows;
  result.channels = channels;
  result.lanes = channels <= 8 ? 4 : 32;
  result.tiles = CeilDivide(channels, result.lanes);
  const int64_t columns = Larger(1, groups * result.tiles);
  const int64_t wanted = Larger(1, kReductionBlocks / columns);
  const int64_t least = 8 * (256 / result.lanes);  // rows of a chunk: eight per thread
  result.chunk_rows = Larger(least, CeilDivide(rows, wanted));
  result.chunks = Larger(1, CeilDivide(rows, result.chunk_rows));
  return result;
}

// A plain list cut into chunks, one per block.
struct FlatChunks {
  int64_t elements = 0, chunks = 1, chunk_elements = 1;
  int64_t partial_bytes() const { return chunks * static_cast<int64_t>(sizeof(double)); }
};

inline FlatChunks MakeFlatChunks(int64_t elements) {
  FlatChunks result;
  result.elements = elements;
  result.chunk_elements = Larger(4096, CeilDivide(elements, kReductionBlocks));
  result.chunks = Larger(1, CeilDivide(elements, result.chunk_elements));
  return result;
}

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_LAUNCH_REDUCTION_SIZES_H_
