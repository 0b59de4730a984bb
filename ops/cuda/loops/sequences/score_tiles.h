// Where the tiles of scaled dot-product attention lie, and the channels that each lane of a tile sums up. For .cu
// files.
#ifndef PARTITA_OPS_CUDA_LOOPS_SEQUENCES_SCORE_TILES_H_
#define PARTITA_OPS_CUDA_LOOPS_SEQUENCES_SCORE_TILES_H_

#include <cstdint>

#include "ops/cuda/loops/divisor.h"
#include "ops/cuda/loops/elementwise.h"
#include "ops/cuda/loops/runs.h"
#include "ops/cuda/loops/sequences/score_steps.h"

namespace partita::launch {

// A tile is of some positions of a sample, of a head or group, and of some channels of what is summed up.
//
// Tiles of `positions` of each sample and head (or group), whose rows have `channels` sums.
struct Tiling {
  Divisor heads, row_tiles, channel_tiles;
  int64_t tiles;

  Tiling(int64_t samples, int64_t of_heads, int64_t positions, int64_t channels)
      : heads(Larger(1, of_heads)),
        row_tiles(Larger(1, CeilDivide(positions, kScoreRows))),
        channel_tiles(Larger(1, CeilDivide(channels, kTileChannels))),
        tiles(positions == 0 ? 0 : samples * of_heads * row_tiles.by() * channel_tiles.by()) {}

  struct Place {
    int64_t sample, head, first_row, first_channel;
  };
  PARTITA_HOST_DEVICE Place At(int64_t tile) const {
    const Divisor::Divided channel = channel_tiles(tile), row = row_tiles(channel.quotient), head = heads(row.quotient);
    return {head.quotient, head.rest, row.rest * kScoreRows, channel.rest * kTileChannels};
  }
};

// The channels that a lane sums up: of each run of the tile's channels, as they lie one behind the other.
template <typename T>
struct LaneChannels {
  using A = Compute<T>;
  static constexpr int kRun = sizeof(T) == 8 ? 2 : 4, kRuns = kLaneSums / kRun;

  int64_t first, channels;  // of the lane's first run; of a row
  bool packed;

  PARTITA_HOST_DEVICE LaneChannels(int64_t first_channel, int thread, int64_t of_row, bool is_packed)
      : first(first_channel + ScoreLane(thread) * kRun), channels(of_row), packed(is_packed) {}

  // sums += factor row
  PARTITA_HOST_DEVICE void Add(A factor, const T* row, A (&sums)[kLaneSums]) const {
    for (int r = 0; r < kRuns; ++r) {
      const int64_t channel = first + r * kRun * kScoreLanes;
      if (packed && channel < channels) {
        A x[kRun];
        Widen(LoadRun<kRun>(row + channel), x);
        for (int e = 0; e < kRun; ++e) sums[r * kRun + e] += factor * x[e];
      } else if (!packed) {
        for (int e = 0; e < kRun; ++e) {
          if (channel + e < channels) sums[r * kRun + e] += factor * static_cast<A>(row[channel + e]);
        }
      }
    }
  }
  PARTITA_HOST_DEVICE void Store(const A (&sums)[kLaneSums], T* row) const {
    for (int r = 0; r < kRuns; ++r) {
      for (int e = 0; e < kRun; ++e) {
        const int64_t channel = first + r * kRun * kScoreLanes + e;
        if (channel < channels) row[channel] = static_cast<T>(sums[r * kRun + e]);
      }
    }
  }
};

}  // namespace partita::launch

#endif  // PARTITA_OPS_CUDA_LOOPS_SEQUENCES_SCORE_TILES_H_
