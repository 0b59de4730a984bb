// Sums per channel over the rows of groups, in double and in two passes that only the sizes decide: chunks of rows to
// partial sums in the workspace, then the partial sums in order. For .cu files.
#ifndef PARTITA_OPS_CUDA_LOOPS_COLUMN_SUMS_H_
#define PARTITA_OPS_CUDA_LOOPS_COLUMN_SUMS_H_

#include <cstdint>

#include "ops/cuda/launch/reduction_sizes.h"
#include "ops/cuda/loops/loops.h"
#include "ops/functors/geometry.h"

namespace partita {

template <int kSums>
struct Sums {
  double at[kSums];
};

// A term is what is added up: term.At(group, channel) is made once per thread and chunk, its
// operator()(row of the group, sums) adds what a row contributes.
template <int kSums, typename Term>
struct ColumnSumsBody {
  using Value = Sums<kSums>;
  ColumnChunks chunks;
  Term term;
  double* partial;  // [groups][chunks][kSums][channels]

  template <int kLanes, int kDepth>
  PARTITA_HOST_DEVICE Value Partial(int64_t block, int lane, int depth) const {
    Value sums{};
    const int64_t tile = block % chunks.tiles, chunk = block / chunks.tiles % chunks.chunks;
    const int64_t group = block / chunks.tiles / chunks.chunks, channel = tile * kLanes + lane;
    if (channel >= chunks.channels) return sums;
    const auto at = term.At(group, channel);
    const int64_t end = Smaller(chunks.rows, (chunk + 1) * chunks.chunk_rows);
    for (int64_t row = chunk * chunks.chunk_rows + depth; row < end; row += kDepth) at(row, sums.at);
    return sums;
  }

  PARTITA_HOST_DEVICE void Combine(Value& sums, const Value& more) const {
    for (int k = 0; k < kSums; ++k) sums.at[k] += more.at[k];
  }

  template <int kLanes>
  PARTITA_HOST_DEVICE void Store(int64_t block, int lane, const Value& sums) const {
    const int64_t channel = block % chunks.tiles * kLanes + lane;
    if (channel >= chunks.channels) return;
    for (int k = 0; k < kSums; ++k)
      partial[(block / chunks.tiles * kSums + k) * chunks.channels + channel] = sums.at[k];
  }
};

// The second pass: finish(group, channel, sums) with the sums over all chunks, once for every group and channel.
template <int kSums, typename Finish>
struct FinishColumnsBody {
  using Value = Sums<kSums>;
  ColumnChunks chunks;
  int64_t tiles;  // of the second pass
  Finish finish;
  const double* partial;

  template <int kLanes, int kDepth>
  PARTITA_HOST_DEVICE Value Partial(int64_t block, int lane, int depth) const {
    Value sums{};
    const int64_t group = block / tiles, channel = block % tiles * kLanes + lane;
    if (channel >= chunks.channels) return sums;
    for (int64_t chunk = depth; chunk < chunks.chunks; chunk += kDepth) {
      const double* own = partial + (group * chunks.chunks + chunk) * kSums * chunks.channels + channel;
      for (int k = 0; k < kSums; ++k) sums.at[k] += own[k * chunks.channels];
    }
    return sums;
  }

  PARTITA_HOST_DEVICE void Combine(Value& sums, const Value& more) const {
    for (int k = 0; k < kSums; ++k) sums.at[k] += more.at[k];
  }

  template <int kLanes>
  PARTITA_HOST_DEVICE void Store(int64_t block, int lane, const Value& sums) const {
    const int64_t channel = block % tiles * kLanes + lane;
    if (channel < chunks.channels) finish(block / tiles, channel, sums);
  }
};

template <int kSums, typename Term>
LaunchError SumColumns(const ColumnChunks& chunks, const Term& term, double* partial, CudaQueue queue) {
  const ColumnSumsBody<kSums, Term> body{chunks, term, partial};
  if (chunks.lanes == 4) return Reduce<4, kBlockThreads / 4>(chunks.blocks(), body, queue);
  return Reduce<32, kBlockThreads / 32>(chunks.blocks(), body, queue);
}

template <int kSums, typename Finish>
LaunchError FinishColumns(const ColumnChunks& chunks, const Finish& finish, const double* partial, CudaQueue queue) {
  constexpr int kLanes = 8;
  const int64_t tiles = CeilDivide(chunks.channels, kLanes);
  const FinishColumnsBody<kSums, Finish> body{chunks, tiles, finish, partial};
  return Reduce<kLanes, kBlockThreads / kLanes>(chunks.groups * tiles, body, queue);
}

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_LOOPS_COLUMN_SUMS_H_
