// Loops over [groups][rows][channels] in blocks of ColumnChunks: a thread has a few channels, keeps what belongs to
// them in registers and walks down the rows; no index is divided on the way. For .cu files.
//
//   MapTiles   a block makes a table of entries for its channels, then each thread maps its rows
//
// A body has: chunks; Entry and Make(group, channel), made once per block; Walk(place, entries of the thread's
// channels).
#ifndef PARTITA_OPS_CUDA_LOOPS_COLUMN_TILES_H_
#define PARTITA_OPS_CUDA_LOOPS_COLUMN_TILES_H_

#include <cstdint>

#include "ops/cuda/loops/channel_memory.h"
#include "ops/cuda/loops/elementwise.h"
#include "ops/cuda/loops/loops.h"
#include "ops/functors/relu.h"

namespace partita {

static_assert(kThreadsOfTile == kBlockThreads);

// A block's tile and chunk, and the first of its groups.
struct TileOfBlock {
  int tile, chunk, group;
};

PARTITA_HOST_DEVICE inline TileOfBlock TileAt(const ColumnChunks& chunks, int block) {
  const int row_of_tiles = block / chunks.tiles;
  return {block % chunks.tiles, row_of_tiles % chunks.chunks, row_of_tiles / chunks.chunks};
}

// What a thread has: `count` channels from `channel` on, and every step-th of the chunk's rows from `row` on.
struct ThreadPlace {
  int64_t first_row;  // of the chunk, in the tensor
  int64_t channel;
  int count, row, end, step;
};

PARTITA_HOST_DEVICE inline ThreadPlace PlaceOf(const ColumnChunks& chunks, const TileOfBlock& at, int64_t group,
                                               int thread) {
  const int lane = thread % chunks.lanes;
  const int64_t before = int64_t{at.chunk} * chunks.chunk_rows;
  const int64_t channel = int64_t{at.tile} * chunks.tile_channels() + lane * kChannelsOfThread;
  return {group * chunks.rows + before,
          channel,
          static_cast<int>(Smaller(kChannelsOfThread, chunks.channels - channel)),
          thread / chunks.lanes,
          static_cast<int>(Smaller(chunks.chunk_rows, chunks.rows - before)),
          chunks.depth()};
}

// A thread's way down its rows of a tensor.
template <typename T>
struct Column {
  T* at;
  int64_t step;
};

template <typename T>
PARTITA_HOST_DEVICE Column<T> ColumnOf(const PitchedRows<T>& rows, const ThreadPlace& place) {
  return {rows.address + (place.first_row + place.row) * rows.pitch + place.channel, place.step * rows.pitch};
}

// f(channels of each input) for each of the thread's rows, in order. kTogether rows are loaded before the first of them
// is seen, so that memory is kept busy though f stores (where an output lies at an input, at the very same place).
template <bool kPacked, int kTogether, typename T, int kInputs, typename F>
PARTITA_HOST_DEVICE void ForRows(const PitchedRows<const T> (&in)[kInputs], const ThreadPlace& place, const F& f) {
  Column<const T> columns[kInputs];
  for (int k = 0; k < kInputs; ++k) columns[k] = ColumnOf(in[k], place);
  const auto load = [&](Channels<T>(&x)[kInputs]) {
    for (int k = 0; k < kInputs; ++k) {
      x[k] = LoadChannels<kPacked>(columns[k].at, place.count);
      columns[k].at += columns[k].step;
    }
  };
  int left = place.end - place.row;  // rows of the chunk; every step-th is the thread's
  PARTITA_NOT_UNROLLED for (; left > (kTogether - 1) * place.step; left -= kTogether * place.step) {
    Channels<T> x[kTogether][kInputs];
    for (int r = 0; r < kTogether; ++r) load(x[r]);
    for (int r = 0; r < kTogether; ++r) f(x[r]);
  }
  PARTITA_NOT_UNROLLED for (; left > 0; left -= place.step) {
    Channels<T> x[kInputs];
    load(x);
    f(x);
  }
}

// A thread's channels of dy behind a relu whose result is y: stored where `to` is, which moves on, and returned.
template <bool kPacked, typename T>
PARTITA_HOST_DEVICE Channels<T> StoreBehindRelu(const Channels<T>& dy, const Channels<T>& y, int count, Column<T>& to) {
  using A = Compute<T>;
  Channels<T> masked;
  for (int w = 0; w < kChannelsOfThread; ++w) {
    masked.at[w] = static_cast<T>(Relu::Gradient(static_cast<A>(dy.at[w]), static_cast<A>(y.at[w])));
  }
  StoreChannels<kPacked>(to.at, count, masked);
  to.at += to.step;
  return masked;
}

// The entry of the thread-th channel of a tile.
template <typename Body>
PARTITA_HOST_DEVICE void MakeEntry(const Body& body, const TileOfBlock& at, int64_t group, int thread,
                                   typename Body::Entry* table) {
  const int64_t channel = int64_t{at.tile} * body.chunks.tile_channels() + thread;
  if (thread >= body.chunks.tile_channels()) return;
  table[thread] = channel < body.chunks.channels ? body.Make(group, channel) : typename Body::Entry{};
}

template <typename Body>
PARTITA_HOST_DEVICE void WalkRows(const Body& body, const TileOfBlock& at, int64_t group, int thread,
                                  const typename Body::Entry* table) {
  const ThreadPlace place = PlaceOf(body.chunks, at, group, thread);
  if (place.count > 0) body.Walk(place, table + thread % body.chunks.lanes * kChannelsOfThread);
}

#ifdef __CUDACC__

template <typename Body>
__global__ void __launch_bounds__(kThreadsOfTile) MapTilesKernel(int64_t, const __grid_constant__ Body body) {
  __shared__ typename Body::Entry table[kMaxTileChannels];
  const TileOfBlock at = TileAt(body.chunks, static_cast<int>(blockIdx.x));
  const int thread = static_cast<int>(threadIdx.x);
  for (int64_t group = at.group; group < body.chunks.groups; group += body.chunks.group_blocks) {
    MakeEntry(body, at, group, thread, table);
    __syncthreads();
    WalkRows(body, at, group, thread, table);
    __syncthreads();  // all have read the table before the next group overwrites it
  }
}

template <typename Body>
LaunchError MapTiles(const Body& body, CudaQueue queue) {
  const int64_t blocks = body.chunks.rows == 0 ? 0 : body.chunks.blocks();
  if (blocks == 0) return kLaunched;
  return LaunchLoop<Body, MapTilesKernel<Body>>({blocks, kThreadsOfTile, 1}, blocks, body, queue);
}

#else

template <typename Body>
LaunchError MapTiles(const Body& body, CudaQueue queue) {
  const int64_t blocks = body.chunks.rows == 0 ? 0 : body.chunks.blocks();
  if (blocks == 0) return kLaunched;
  if (const LaunchError error = Ask(blocks, kThreadsOfTile, 1, queue); error != kLaunched) return error;
  typename Body::Entry table[kMaxTileChannels];
  for (int64_t block = blocks; block-- > 0;) {
    const TileOfBlock at = TileAt(body.chunks, static_cast<int>(block));
    for (int64_t group = at.group; group < body.chunks.groups; group += body.chunks.group_blocks) {
      for (int thread = 0; thread < kThreadsOfTile; ++thread) MakeEntry(body, at, group, thread, table);
      for (int thread = kThreadsOfTile; thread-- > 0;) WalkRows(body, at, group, thread, table);
    }
  }
  return kLaunched;
}

#endif  // __CUDACC__

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_LOOPS_COLUMN_TILES_H_
