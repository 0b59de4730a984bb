// Cuts reductions into blocks by sizes alone, never by the device, so that results are bitwise identical on every GPU.
#ifndef PARTITA_OPS_CUDA_LAUNCH_REDUCTION_SIZES_H_
#define PARTITA_OPS_CUDA_LAUNCH_REDUCTION_SIZES_H_

#include <cstdint>

#include "ops/functors/geometry.h"

namespace partita {

inline constexpr int64_t kReductionBlocks = 1024;  // enough to fill a GPU several times

// Rows of so few classes are one thread's work; longer ones are a block's.
inline constexpr int64_t kFewClasses = 32;

// Channels side by side that are one thread's: of f32 as many as one memory access moves.
inline constexpr int kChannelsOfThread = 4;
inline constexpr int kThreadsOfTile = 256;
inline constexpr int kMaxTileChannels = 8 * kChannelsOfThread;

// The rows of [groups][rows][channels], cut into chunks. A block has a chunk of a tile of channels: `lanes` threads
// stand side by side on its channels, depth() behind each other on its rows.
struct ColumnChunks {
  int64_t groups = 1, rows = 0, channels = 0;
  int lanes = 8;
  int tiles = 0;
  int chunks = 1, chunk_rows = 1;
  int group_blocks = 1;  // a block has every group_blocks-th group

  PARTITA_HOST_DEVICE int depth() const { return kThreadsOfTile / lanes; }
  PARTITA_HOST_DEVICE int tile_channels() const { return lanes * kChannelsOfThread; }
  PARTITA_HOST_DEVICE int64_t blocks() const { return int64_t{tiles} * chunks * group_blocks; }

  // Of sums: workspace for those of the chunks, and for the totals of groups that are added up in turn.
  int64_t partial_bytes(int sums) const { return chunks > 1 ? chunks * totals_bytes(sums) : 0; }
  int64_t totals_bytes(int sums) const { return groups * sums * channels * static_cast<int64_t>(sizeof(double)); }
  // Counters by which the last block knows that it is: for the chunks of each group and tile, `over_groups` for the
  // groups of each tile as well.
  int64_t counters(bool over_groups) const {
    return (chunks > 1 ? groups * tiles : 0) + (over_groups && groups > 1 ? tiles : 0);
  }
};

// About as many blocks as a large GPU runs at once: what is made once per block is made seldom.
inline constexpr int64_t kColumnBlocks = 512;

inline ColumnChunks MakeColumnChunks(int64_t groups, int64_t rows, int64_t channels) {
  ColumnChunks result;
  result.groups = groups;
  result.rows = rows;
  result.channels = channels;
  result.lanes = 1;
  while (result.lanes < 8 && result.tile_channels() < channels) result.lanes *= 2;
  const int64_t tiles = CeilDivide(channels, result.tile_channels());
  const int64_t wanted = Larger(1, kColumnBlocks / Larger(1, groups * tiles));
  const int64_t chunk_rows = Larger(4 * result.depth(), CeilDivide(rows, wanted));
  result.tiles = static_cast<int>(tiles);
  result.chunk_rows = static_cast<int>(chunk_rows);
  result.chunks = static_cast<int>(Larger(1, CeilDivide(rows, chunk_rows)));
  result.group_blocks = static_cast<int>(Smaller(groups, Larger(1, 1024 * kColumnBlocks / Larger(1, tiles))));
  return result;
}

// Counters of all launches of a process that add up in blocks (ops/cuda/kernel/finish_counters.h lends them).
inline constexpr int64_t kFinishCounters = int64_t{1} << 17;

// Where such a launch keeps what its blocks leave for the last of them: partial_bytes and, over groups, totals_bytes of
// workspace; counters that no other launch has, which are 0 before and after it.
struct SumScratch {
  void* workspace = nullptr;
  int64_t first_counter = 0;
};

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
