// Sums per channel over the rows of groups, in double and in two passes that only the sizes decide: chunks of rows to
// partial sums in the workspace, then the partial sums in order. For .cu files.
#ifndef PARTITA_OPS_CUDA_COLUMN_SUMS_H_
#define PARTITA_OPS_CUDA_COLUMN_SUMS_H_

#include <cstdint>

#include "ops/cuda/loops.h"
#include "ops/cuda/reduction_sizes.h"
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

// The second pass: the partial sums of a column, chunk by chunk.
template <int kSums>
PARTITA_HOST_DEVICE Sums<kSums> TotalOfColumn(const ColumnChunks& chunks, const double* partial, int64_t group,
                                              int64_t channel) {
  Sums<kSums> total{};
  for (int64_t chunk = 0; chunk < chunks.chunks; ++chunk) {
    for (int k = 0; k < kSums; ++k) {
      total.at[k] += partial[((group * chunks.chunks + chunk) * kSums + k) * chunks.channels + channel];
    }
  }
  return total;
}

template <int kSums, typename Term>
LaunchError SumColumns(const ColumnChunks& chunks, const Term& term, double* partial, CudaQueue queue) {
  const ColumnSumsBody<kSums, Term> body{chunks, term, partial};
  if (chunks.lanes == 4) return Reduce<4, kBlockThreads / 4>(chunks.blocks(), body, queue);
  return Reduce<32, kBlockThreads / 32>(chunks.blocks(), body, queue);
}

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_COLUMN_SUMS_H_
