// The steps of a block between two barriers of per-channel sums (column_sums.h). For .cu files.
#ifndef PARTITA_OPS_CUDA_LOOPS_COLUMN_SUM_STEPS_H_
#define PARTITA_OPS_CUDA_LOOPS_COLUMN_SUM_STEPS_H_

#include <cstdint>

#include "ops/cuda/launch/reduction_sizes.h"
#include "ops/cuda/loops/channel_memory.h"
#include "ops/cuda/loops/column_tiles.h"

namespace partita {

template <int kSums>
struct Sums {
  double at[kSums];
};

// A body of MapTiles, but for Walk:
//   kSums                        numbers that are summed
//   kBlocksTogether              blocks that share a multiprocessor: what its registers hold without spilling
//   Add(place, entries, sums)    adds the rows of a place to its sums, per channel
//   Finish(group, channel, sums) once for every group and channel
//   kOverGroups                  FinishGroups(channel, of_group) once for every channel, if there are several groups;
//                                of_group(g) are the sums of group g
template <typename Body>
struct ColumnSums {
  static constexpr int kSums = Body::kSums, kValues = kSums * kChannelsOfThread;
  static constexpr int kBlocksTogether = Body::kBlocksTogether;
  using Entry = typename Body::Entry;
  using Values = double[kValues][kThreadsOfTile];

  Body body;
  double* partial;  // [groups][chunks][kSums][channels]
  double* totals;   // [groups][kSums][channels]
  int64_t first_counter;

  PARTITA_HOST_DEVICE const ColumnChunks& chunks() const { return body.chunks; }
  PARTITA_HOST_DEVICE bool over_groups() const { return Body::kOverGroups && chunks().groups > 1; }
  PARTITA_HOST_DEVICE int64_t CounterOfTile(int tile) const { return first_counter + tile; }
  PARTITA_HOST_DEVICE int64_t CounterOfGroup(int64_t group, int tile) const {
    return first_counter + (over_groups() ? chunks().tiles : 0) + group * chunks().tiles + tile;
  }

  // The sums of a thread's rows: values[sum * kChannelsOfThread + channel][thread].
  PARTITA_HOST_DEVICE void AddRows(const TileOfBlock& at, int64_t group, int thread, const Entry* table,
                                   Values& values) const {
    Sums<kSums> sums[kChannelsOfThread] = {};
    const ThreadPlace place = PlaceOf(chunks(), at, group, thread);
    if (place.count > 0) body.Add(place, table + thread % chunks().lanes * kChannelsOfThread, sums);
    for (int k = 0; k < kSums; ++k) {
      for (int w = 0; w < kChannelsOfThread; ++w) values[k * kChannelsOfThread + w][thread] = sums[w].at[k];
    }
  }

  // Adds the values of the second half of 2 * `half` threads to those of the first.
  template <int kRows>
  PARTITA_HOST_DEVICE static void Fold(int half, int thread, Values& values) {
    if (thread >= half) return;
    for (int k = 0; k < kRows; ++k) values[k][thread] += values[k][thread + half];
  }

  // When values are folded to `lanes` threads: the sums of the tile's column-th channel.
  PARTITA_HOST_DEVICE static Sums<kSums> OfChunk(int column, const Values& values) {
    Sums<kSums> sums;
    for (int k = 0; k < kSums; ++k) {
      sums.at[k] = values[k * kChannelsOfThread + column % kChannelsOfThread][column / kChannelsOfThread];
    }
    return sums;
  }

  PARTITA_HOST_DEVICE void StorePartial(const TileOfBlock& at, int64_t group, int thread, const Values& values) const {
    const int64_t channel = ChannelOf(at, thread);
    if (channel < 0) return;
    const Sums<kSums> sums = OfChunk(thread, values);
    double* const own = partial + (group * chunks().chunks + at.chunk) * kSums * chunks().channels + channel;
    for (int k = 0; k < kSums; ++k) own[k * chunks().channels] = sums.at[k];
  }

  // Of the last block: threads behind each other on a channel share its chunks. values[sum][thread].
  PARTITA_HOST_DEVICE void AddPartials(const TileOfBlock& at, int64_t group, int thread, Values& values) const {
    const int columns = chunks().tile_channels();
    const int64_t channel = ChannelOf(at, thread % columns), step = kSums * chunks().channels;
    Sums<kSums> sums{};
    if (channel >= 0) {
      const double* const of_group = partial + group * chunks().chunks * step + channel;
      for (int chunk = thread / columns; chunk < chunks().chunks; chunk += kThreadsOfTile / columns) {
        for (int k = 0; k < kSums; ++k) {
          sums.at[k] += LoadOfOtherBlock(of_group + chunk * step + k * chunks().channels);
        }
      }
    }
    for (int k = 0; k < kSums; ++k) values[k][thread] = sums.at[k];
  }

  PARTITA_HOST_DEVICE void Finish(const TileOfBlock& at, int64_t group, int thread, const Values& values) const {
    const int64_t channel = ChannelOf(at, thread);
    if (channel < 0) return;
    const Sums<kSums> sums = chunks().chunks > 1 ? OfColumn(thread, values) : OfChunk(thread, values);
    body.Finish(group, channel, sums);
    if (!over_groups()) return;
    for (int k = 0; k < kSums; ++k) totals[(group * kSums + k) * chunks().channels + channel] = sums.at[k];
  }

  PARTITA_HOST_DEVICE void FinishGroups(const TileOfBlock& at, int thread) const {
    if constexpr (Body::kOverGroups) {
      const int64_t channel = ChannelOf(at, thread);
      if (channel >= 0) body.FinishGroups(channel, TotalsOfChannel{totals + channel, chunks().channels});
    }
  }

 private:
  struct TotalsOfChannel {
    const double* totals;
    int64_t channels;
    PARTITA_HOST_DEVICE Sums<kSums> operator()(int64_t group) const {
      Sums<kSums> sums;
      for (int k = 0; k < kSums; ++k) sums.at[k] = LoadOfOtherBlock(totals + (group * kSums + k) * channels);
      return sums;
    }
  };

  PARTITA_HOST_DEVICE static Sums<kSums> OfColumn(int column, const Values& values) {
    Sums<kSums> sums;
    for (int k = 0; k < kSums; ++k) sums.at[k] = values[k][column];
    return sums;
  }

  // Of the tile's column-th channel; -1: there is none.
  PARTITA_HOST_DEVICE int64_t ChannelOf(const TileOfBlock& at, int column) const {
    const int64_t channel = int64_t{at.tile} * chunks().tile_channels() + column;
    return column < chunks().tile_channels() && channel < chunks().channels ? channel : -1;
  }
};

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_LOOPS_COLUMN_SUM_STEPS_H_
