// Blocks of scores that never lie in memory as a whole. For .cu files; as loops.h, on the CPU as well.
//
//   PassScores   a block per tile, which has kScoreRows rows of scores. In each step it makes kScoreColumns columns of
//                them in memory that its threads share (Score), then all threads use them:
//                Score of all threads, [Weigh of all,] Add of all; after the last step, Finish of all
//
// Thread t has row t / kScoreLanes, and of a row's columns every kScoreLanes-th one, from t % kScoreLanes on; of its
// sums runs of neighbours, which one access moves, and of the runs every kScoreLanes-th one. What a thread sums up lies
// in its registers (Body::Sums); a tile is of as many sums as these have room for.
#ifndef PARTITA_OPS_CUDA_LOOPS_SEQUENCES_SCORE_STEPS_H_
#define PARTITA_OPS_CUDA_LOOPS_SEQUENCES_SCORE_STEPS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "ops/cuda/loops/loops.h"

namespace partita {

inline constexpr int kScoreRows = 16, kScoreLanes = kBlockThreads / kScoreRows, kScoreColumns = 64;
inline constexpr int kLaneColumns = kScoreColumns / kScoreLanes;
inline constexpr int kLaneSums = 8, kTileChannels = kLaneSums * kScoreLanes;

// A row of scores in memory has another bank than the next.
template <typename A>
struct ScoreTile {
  A at[kScoreRows][kScoreColumns + 1];
};

PARTITA_HOST_DEVICE inline int ScoreRow(int thread) { return thread / kScoreLanes; }
PARTITA_HOST_DEVICE inline int ScoreLane(int thread) { return thread % kScoreLanes; }

#ifdef __CUDACC__

template <typename Body>
__global__ void __launch_bounds__(kBlockThreads) PassScoresKernel(int64_t tiles, const __grid_constant__ Body body) {
  __shared__ typename Body::Memory memory;
  const int thread = static_cast<int>(threadIdx.x);
  for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const typename Body::Tile at = body.At(tile);
    typename Body::Sums sums = {};
    PARTITA_NOT_UNROLLED
    for (int64_t step = 0; step < at.steps; ++step) {
      body.Score(at, step, thread, memory);
      __syncthreads();
      if constexpr (Body::kWeighs) {
        body.Weigh(at, step, thread, memory, sums);
        __syncthreads();
      }
      body.Add(at, step, thread, memory, sums);
      __syncthreads();  // all have read what the next step overwrites
    }
    body.Finish(at, thread, sums);
  }
}

template <typename Body>
LaunchError PassScores(int64_t tiles, const Body& body, CudaQueue queue) {
  static_assert(std::is_trivially_copyable_v<Body>);
  if (tiles <= 0) return kLaunched;
  return LaunchLoop<Body, PassScoresKernel<Body>>({Blocks(tiles), kBlockThreads, 1}, tiles, body, queue);
}

#else

template <typename Body>
LaunchError PassScores(int64_t tiles, const Body& body, CudaQueue queue) {
  static_assert(std::is_trivially_copyable_v<Body>);
  if (tiles <= 0) return kLaunched;
  if (const LaunchError error = Ask(tiles, kBlockThreads, 1, queue); error != kLaunched) return error;
  const auto for_threads = [](const auto& f) {
    for (int thread = kBlockThreads; thread-- > 0;) f(thread);
  };
  const auto memory = std::make_unique<typename Body::Memory>();
  std::vector<typename Body::Sums> sums(kBlockThreads);
  for (int64_t tile = tiles; tile-- > 0;) {
    const typename Body::Tile at = body.At(tile);
    sums.assign(kBlockThreads, {});
    for (int64_t step = 0; step < at.steps; ++step) {
      for_threads([&](int thread) { body.Score(at, step, thread, *memory); });
      if constexpr (Body::kWeighs) {
        for_threads([&](int thread) { body.Weigh(at, step, thread, *memory, sums[thread]); });
      }
      for_threads([&](int thread) { body.Add(at, step, thread, *memory, sums[thread]); });
    }
    for_threads([&](int thread) { body.Finish(at, thread, sums[thread]); });
  }
  return kLaunched;
}

#endif  // __CUDACC__

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_LOOPS_SEQUENCES_SCORE_STEPS_H_
