// Sums per channel over the rows of groups, in double and in one launch, in an order that only the sizes decide. Blocks
// sum chunks of rows and write partial sums to the workspace; the last block of a tile and group to finish adds these
// up in order. A counter identifies the last block. It wraps around to 0 for the next launch, so it needs no zeroing:
// the module is loaded with zeros, and a launch that started also ends, or no work of the process ever runs again
// (docs/design.md 6.2). For .cu files.
#ifndef PARTITA_OPS_CUDA_LOOPS_COLUMN_SUMS_H_
#define PARTITA_OPS_CUDA_LOOPS_COLUMN_SUMS_H_

#include <cstdint>
#include <vector>

#include "ops/cuda/launch/reduction_sizes.h"
#include "ops/cuda/loops/column_sum_steps.h"
#include "ops/cuda/loops/column_tiles.h"

namespace partita {

#ifdef __CUDACC__

static __device__ unsigned finish_counters[kFinishCounters];

// Whether this block is the last of `blocks` to come here; what the others wrote before is then seen. For all threads
// of a block.
__device__ inline bool IsLast(int64_t counter, int64_t blocks) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  const auto others = static_cast<unsigned>(blocks - 1);
  if (threadIdx.x == 0) last = atomicInc(finish_counters + counter, others) == others;
  __syncthreads();
  __threadfence();
  return last;
}

template <typename Steps, int kRows>
__device__ void FoldTo(int threads, int thread, typename Steps::Values& values) {
  __syncthreads();
  for (int half = kThreadsOfTile / 2; half >= threads; half /= 2) {
    Steps::template Fold<kRows>(half, thread, values);
    __syncthreads();
  }
}

// All conditions around barriers are the same for all threads of a block.
template <typename Steps>
__global__ void __launch_bounds__(kThreadsOfTile, Steps::kBlocksTogether)
    SumColumnsKernel(int64_t, const __grid_constant__ Steps steps) {
  __shared__ typename Steps::Entry table[kMaxTileChannels];
  __shared__ typename Steps::Values values;
  const ColumnChunks& chunks = steps.chunks();
  const TileOfBlock at = TileAt(chunks, static_cast<int>(blockIdx.x));
  const int thread = static_cast<int>(threadIdx.x);
  for (int64_t group = at.group; group < chunks.groups; group += chunks.group_blocks) {
    MakeEntry(steps.body, at, group, thread, table);
    __syncthreads();
    steps.AddRows(at, group, thread, table, values);
    FoldTo<Steps, Steps::kValues>(chunks.lanes, thread, values);
    if (chunks.chunks > 1) {
      steps.StorePartial(at, group, thread, values);
      if (!IsLast(steps.CounterOfGroup(group, at.tile), chunks.chunks)) continue;
      steps.AddPartials(at, group, thread, values);
      FoldTo<Steps, Steps::kSums>(chunks.tile_channels(), thread, values);
    }
    steps.Finish(at, group, thread, values);
    if (steps.over_groups() && IsLast(steps.CounterOfTile(at.tile), chunks.groups)) steps.FinishGroups(at, thread);
    __syncthreads();  // all have read what the next group overwrites
  }
}

template <typename Steps>
LaunchError SumTiles(const Steps& steps, CudaQueue queue) {
  const int64_t blocks = steps.chunks().blocks();
  if (blocks == 0) return kLaunched;
  return LaunchLoop<Steps, SumColumnsKernel<Steps>>({blocks, kThreadsOfTile, 1}, blocks, steps, queue);
}

#else

template <typename F>
void ForThreads(const F& f) {
  for (int thread = 0; thread < kThreadsOfTile; ++thread) f(thread);
}

template <typename Steps, int kRows>
void FoldTo(int threads, typename Steps::Values& values) {
  for (int half = kThreadsOfTile / 2; half >= threads; half /= 2) {
    ForThreads([&](int thread) { Steps::template Fold<kRows>(half, thread, values); });
  }
}

template <typename Steps>
void SumBlock(const Steps& steps, const TileOfBlock& at, int64_t group, std::vector<int64_t>& arrived) {
  typename Steps::Entry table[kMaxTileChannels];
  typename Steps::Values values;
  const ColumnChunks& chunks = steps.chunks();
  const auto is_last = [&](int64_t counter, int64_t blocks) {
    return ++arrived[static_cast<size_t>(counter - steps.first_counter)] == blocks;
  };
  ForThreads([&](int thread) { MakeEntry(steps.body, at, group, thread, table); });
  ForThreads([&](int thread) { steps.AddRows(at, group, thread, table, values); });
  FoldTo<Steps, Steps::kValues>(chunks.lanes, values);
  if (chunks.chunks > 1) {
    ForThreads([&](int thread) { steps.StorePartial(at, group, thread, values); });
    if (!is_last(steps.CounterOfGroup(group, at.tile), chunks.chunks)) return;
    ForThreads([&](int thread) { steps.AddPartials(at, group, thread, values); });
    FoldTo<Steps, Steps::kSums>(chunks.tile_channels(), values);
  }
  ForThreads([&](int thread) { steps.Finish(at, group, thread, values); });
  if (!steps.over_groups() || !is_last(steps.CounterOfTile(at.tile), chunks.groups)) return;
  ForThreads([&](int thread) { steps.FinishGroups(at, thread); });
}

template <typename Steps>
LaunchError SumTiles(const Steps& steps, CudaQueue queue) {
  const ColumnChunks& chunks = steps.chunks();
  if (chunks.blocks() == 0) return kLaunched;
  if (const LaunchError error = Ask(chunks.blocks(), kThreadsOfTile, 1, queue); error != kLaunched) return error;
  std::vector<int64_t> arrived(static_cast<size_t>(chunks.counters(steps.over_groups())));
  for (int64_t block = chunks.blocks(); block-- > 0;) {
    const TileOfBlock at = TileAt(chunks, static_cast<int>(block));
    for (int64_t group = at.group; group < chunks.groups; group += chunks.group_blocks) {
      SumBlock(steps, at, group, arrived);
    }
  }
  return kLaunched;
}

#endif  // __CUDACC__

template <typename Body>
LaunchError SumColumns(const Body& body, const SumScratch& scratch, CudaQueue queue) {
  double* const partial = As<double>(scratch.workspace);
  double* const totals = partial + body.chunks.partial_bytes(Body::kSums) / int64_t{sizeof(double)};
  return SumTiles(ColumnSums<Body>{body, partial, totals, scratch.first_counter}, queue);
}

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_LOOPS_COLUMN_SUMS_H_
