// The loops that all own kernels run in. What happens at an index is a body: a trivially copyable struct whose
// functions are for host and device. Compiled by nvcc a loop is a kernel launch; compiled by a C++ compiler it is a
// plain loop over the same body, thread by thread in the same partition, so a test without a GPU runs the very
// arithmetic and the very order of sums that the GPU runs (tests/ops/cuda/own/emulated_test.cc).
//
//   ForEach     body(i) for 0 <= i < count, in any order
//   Reduce      per block and lane: the Partial values of kDepth threads, combined as a binary tree, then Store
//   ReduceRows  a block per row: First of all threads combined, then Second given the first, then Finish given both
//   PassTiles   a block per tile: Load of all threads into memory that they share, then Store from there
//
// Blocks of these loops are independent of each other. Loops over rows of channels are in column_tiles.h, and sums that
// the last block completes in column_sums.h. Equal inputs give bitwise identical results everywhere.
#ifndef PARTITA_OPS_CUDA_LOOPS_LOOPS_H_
#define PARTITA_OPS_CUDA_LOOPS_LOOPS_H_

#include <cstdint>
#include <type_traits>
#include <vector>

#include "ops/cuda/launch/launch.h"
#include "runtime/base/kernel_address.h"
#include "runtime/base/philox.h"

#ifdef __CUDACC__
#include <cuda_runtime.h>
#endif

namespace partita {

inline constexpr int kBlockThreads = 256;

// The most blocks that a grid needs; blocks step over the remaining elements.
inline constexpr int64_t kMaxBlocks = int64_t{1} << 20;

// In front of a loop that the compiler must not unroll: to find the number of rounds it may divide 64-bit integers, and
// more rounds at once take more registers.
#ifdef __CUDA_ARCH__
#define PARTITA_NOT_UNROLLED _Pragma("unroll 1")
#else
#define PARTITA_NOT_UNROLLED
#endif

inline int64_t Blocks(int64_t wanted) { return wanted < kMaxBlocks ? wanted : kMaxBlocks; }

inline LaunchError CopyBytes(void* to, const void* from, int64_t bytes, CudaQueue queue) {
  return bytes <= 0 || to == from ? kLaunched : queue->Copy(to, from, bytes);
}

inline LaunchError ZeroBytes(void* to, int64_t bytes, CudaQueue queue) {
  return bytes <= 0 ? kLaunched : queue->Zero(to, bytes);
}

#ifdef __CUDACC__

// A kernel's arguments are a count and a body.
template <typename Body, void (*kKernel)(int64_t, Body)>
LaunchError LaunchLoop(const LaunchShape& shape, int64_t count, const Body& body, CudaQueue queue) {
  void* arguments[] = {&count, const_cast<Body*>(&body)};
  return queue->Launch(PARTITA_KERNEL_ADDRESS(*kKernel), shape, arguments);
}

// Blocks that are to share a multiprocessor. Where it is not said, the compiler spills to have twice as many.
inline constexpr int kForEachBlocks = 4;

template <typename Body>
__global__ void __launch_bounds__(kBlockThreads, kForEachBlocks)
    ForEachKernel(int64_t count, const __grid_constant__ Body body) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  PARTITA_NOT_UNROLLED
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) body(i);
}

template <typename Body>
LaunchError ForEach(int64_t count, const Body& body, CudaQueue queue) {
  static_assert(std::is_trivially_copyable_v<Body>);
  if (count <= 0) return kLaunched;
  const LaunchShape shape{Blocks((count + kBlockThreads - 1) / kBlockThreads), kBlockThreads, 1};
  return LaunchLoop<Body, ForEachKernel<Body>>(shape, count, body, queue);
}

// The loop bounds are the same for all threads of a block, so all of them reach every barrier. Between the last barrier
// of an iteration and the next write, a thread reads values[0] of its own lane alone, which only it writes.
template <int kLanes, int kDepth, typename Body>
__global__ void __launch_bounds__(kLanes* kDepth) ReduceKernel(int64_t blocks, const __grid_constant__ Body body) {
  __shared__ typename Body::Value values[kDepth][kLanes];
  const int lane = threadIdx.x, depth = threadIdx.y;
  for (int64_t block = blockIdx.x; block < blocks; block += gridDim.x) {
    values[depth][lane] = body.template Partial<kLanes, kDepth>(block, lane, depth);
    __syncthreads();
    for (int half = kDepth / 2; half > 0; half /= 2) {
      if (depth < half) body.Combine(values[depth][lane], values[depth + half][lane]);
      __syncthreads();
    }
    if (depth == 0) body.template Store<kLanes>(block, lane, values[0][lane]);
  }
}

template <int kLanes, int kDepth, typename Body>
LaunchError Reduce(int64_t blocks, const Body& body, CudaQueue queue) {
  static_assert(std::is_trivially_copyable_v<Body> && (kDepth & (kDepth - 1)) == 0);
  if (blocks <= 0) return kLaunched;
  return LaunchLoop<Body, ReduceKernel<kLanes, kDepth, Body>>({Blocks(blocks), kLanes, kDepth}, blocks, body, queue);
}

template <typename Body>
__global__ void __launch_bounds__(kBlockThreads) ReduceRowsKernel(int64_t rows, const __grid_constant__ Body body) {
  __shared__ typename Body::FirstValue first[kBlockThreads];
  __shared__ typename Body::SecondValue second[kBlockThreads];
  const int thread = threadIdx.x;
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    first[thread] = body.First(row, thread);
    __syncthreads();
    for (int half = kBlockThreads / 2; half > 0; half /= 2) {
      if (thread < half) body.CombineFirst(first[thread], first[thread + half]);
      __syncthreads();
    }
    second[thread] = body.Second(row, thread, first[0]);
    __syncthreads();
    for (int half = kBlockThreads / 2; half > 0; half /= 2) {
      if (thread < half) body.CombineSecond(second[thread], second[thread + half]);
      __syncthreads();
    }
    body.Finish(row, thread, first[0], second[0]);
    __syncthreads();  // all have read both before the next row overwrites them
  }
}

template <typename Body>
LaunchError ReduceRows(int64_t rows, const Body& body, CudaQueue queue) {
  static_assert(std::is_trivially_copyable_v<Body>);
  if (rows <= 0) return kLaunched;
  return LaunchLoop<Body, ReduceRowsKernel<Body>>({Blocks(rows), kBlockThreads, 1}, rows, body, queue);
}

template <typename Body>
__global__ void __launch_bounds__(kBlockThreads) PassTilesKernel(int64_t tiles, const __grid_constant__ Body body) {
  __shared__ typename Body::Memory memory;
  for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    body.Load(tile, static_cast<int>(threadIdx.x), memory);
    __syncthreads();
    body.Store(tile, static_cast<int>(threadIdx.x), memory);
    __syncthreads();  // all have read what the next tile overwrites
  }
}

template <typename Body>
LaunchError PassTiles(int64_t tiles, const Body& body, CudaQueue queue) {
  static_assert(std::is_trivially_copyable_v<Body>);
  if (tiles <= 0) return kLaunched;
  return LaunchLoop<Body, PassTilesKernel<Body>>({Blocks(tiles), kBlockThreads, 1}, tiles, body, queue);
}

#else  // the same loops without a GPU

// The queue is asked as for a launch, and the loop runs if it takes it.
inline LaunchError Ask(int64_t blocks, int lanes, int depth, CudaQueue queue) {
  return queue->Launch(nullptr, {Blocks(blocks), lanes, depth}, nullptr);
}

// Backwards, so that a body which leans on the order of its calls does not go unnoticed.
template <typename Body>
LaunchError ForEach(int64_t count, const Body& body, CudaQueue queue) {
  static_assert(std::is_trivially_copyable_v<Body>);
  if (count <= 0) return kLaunched;
  const int64_t blocks = (count + kBlockThreads - 1) / kBlockThreads;
  if (const LaunchError error = Ask(blocks, kBlockThreads, 1, queue); error != kLaunched) return error;
  for (int64_t i = count; i-- > 0;) body(i);
  return kLaunched;
}

template <int kLanes, int kDepth, typename Body>
LaunchError Reduce(int64_t blocks, const Body& body, CudaQueue queue) {
  static_assert(std::is_trivially_copyable_v<Body> && (kDepth & (kDepth - 1)) == 0);
  if (blocks <= 0) return kLaunched;
  if (const LaunchError error = Ask(blocks, kLanes, kDepth, queue); error != kLaunched) return error;
  std::vector<typename Body::Value> values(kDepth);
  for (int64_t block = blocks; block-- > 0;) {
    for (int lane = 0; lane < kLanes; ++lane) {
      for (int depth = 0; depth < kDepth; ++depth) {
        values[depth] = body.template Partial<kLanes, kDepth>(block, lane, depth);
      }
      for (int half = kDepth / 2; half > 0; half /= 2) {
        for (int depth = 0; depth < half; ++depth) body.Combine(values[depth], values[depth + half]);
      }
      body.template Store<kLanes>(block, lane, values[0]);
    }
  }
  return kLaunched;
}

template <typename Body>
LaunchError ReduceRows(int64_t rows, const Body& body, CudaQueue queue) {
  static_assert(std::is_trivially_copyable_v<Body>);
  if (rows <= 0) return kLaunched;
  if (const LaunchError error = Ask(rows, kBlockThreads, 1, queue); error != kLaunched) return error;
  std::vector<typename Body::FirstValue> first(kBlockThreads);
  std::vector<typename Body::SecondValue> second(kBlockThreads);
  for (int64_t row = rows; row-- > 0;) {
    for (int t = 0; t < kBlockThreads; ++t) first[t] = body.First(row, t);
    for (int half = kBlockThreads / 2; half > 0; half /= 2) {
      for (int t = 0; t < half; ++t) body.CombineFirst(first[t], first[t + half]);
    }
    for (int t = 0; t < kBlockThreads; ++t) second[t] = body.Second(row, t, first[0]);
    for (int half = kBlockThreads / 2; half > 0; half /= 2) {
      for (int t = 0; t < half; ++t) body.CombineSecond(second[t], second[t + half]);
    }
    for (int t = kBlockThreads; t-- > 0;) body.Finish(row, t, first[0], second[0]);
  }
  return kLaunched;
}

template <typename Body>
LaunchError PassTiles(int64_t tiles, const Body& body, CudaQueue queue) {
  static_assert(std::is_trivially_copyable_v<Body>);
  if (tiles <= 0) return kLaunched;
  if (const LaunchError error = Ask(tiles, kBlockThreads, 1, queue); error != kLaunched) return error;
  typename Body::Memory memory;
  for (int64_t tile = tiles; tile-- > 0;) {
    for (int t = 0; t < kBlockThreads; ++t) body.Load(tile, t, memory);
    for (int t = kBlockThreads; t-- > 0;) body.Store(tile, t, memory);
  }
  return kLaunched;
}

#endif  // __CUDACC__

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_LOOPS_LOOPS_H_
