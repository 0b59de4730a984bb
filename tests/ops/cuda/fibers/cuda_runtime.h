// What our .cu files need of CUDA's runtime, for a host's compiler: their device branch, compiled as C++, is run thread
// by thread on a grid of fibers (grid.h). A kernel stops only where its threads wait for each other.
//
// Blocks run one after another, so that one `__shared__` variable serves all; what a block has not stored there is
// poison (memory.h).
#ifndef PARTITA_TESTS_OPS_CUDA_FIBERS_CUDA_RUNTIME_H_
#define PARTITA_TESTS_OPS_CUDA_FIBERS_CUDA_RUNTIME_H_

#include <cstdint>
#include <cstring>

#include "tests/ops/cuda/fibers/kernels.h"
#include "tests/ops/cuda/fibers/meeting.h"

#define __host__
#define __device__
#define __global__
#define __shared__ static thread_local
#define __forceinline__ inline
#define __grid_constant__
#define __launch_bounds__(...)

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
};
struct uint3 {
  unsigned x, y, z;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(16) double2 {
  double x, y;
};

// Functions, not variables: what they return is no memory that a kernel touches.
#define threadIdx (uint3{partita::fibers::Lane(), partita::fibers::Depth(), 0})
#define blockIdx (uint3{partita::fibers::BlockIndex(), 0, 0})
#define blockDim (dim3{partita::fibers::Lanes(), partita::fibers::Depths(), 1})
#define gridDim (dim3{partita::fibers::Blocks(), 1, 1})
inline constexpr int warpSize = 32;

inline void __syncthreads(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  partita::fibers::MeetBlock(file, line);
}

inline void __syncwarp(unsigned mask = ~0u) { partita::fibers::Ballot("__syncwarp", mask, 0); }
inline unsigned __ballot_sync(unsigned mask, int predicate) {
  return partita::fibers::Ballot("__ballot_sync", mask, predicate != 0);
}
inline int __any_sync(unsigned mask, int predicate) {
  return partita::fibers::Ballot("__any_sync", mask, predicate != 0) != 0;
}
inline int __all_sync(unsigned mask, int predicate) {
  return partita::fibers::Ballot("__all_sync", mask, predicate == 0) == 0;
}

namespace partita::fibers {

// What the lane `from` gives, or this one if that is outside of its segment of `width` lanes.
template <typename T>
T Shuffle(const char* call, unsigned mask, T value, int from, int width) {
  static_assert(sizeof(T) <= sizeof(uint64_t));
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  const int lane = LaneOfWarp();
  const bool inside = from >= 0 && from / width == lane / width;
  bits = MeetWarp(call, mask, bits, inside ? from : lane);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace partita::fibers

template <typename T>
T __shfl_sync(unsigned mask, T value, int lane, int width = warpSize) {
  const int first = partita::fibers::LaneOfWarp() / width * width;
  return partita::fibers::Shuffle("__shfl_sync", mask, value, first + lane % width, width);
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = warpSize) {
  return partita::fibers::Shuffle("__shfl_xor_sync", mask, value, partita::fibers::LaneOfWarp() ^ lanes, width);
}
template <typename T>
T __shfl_down_sync(unsigned mask, T value, int lanes, int width = warpSize) {
  return partita::fibers::Shuffle("__shfl_down_sync", mask, value, partita::fibers::LaneOfWarp() + lanes, width);
}
template <typename T>
T __shfl_up_sync(unsigned mask, T value, int lanes, int width = warpSize) {
  return partita::fibers::Shuffle("__shfl_up_sync", mask, value, partita::fibers::LaneOfWarp() - lanes, width);
}

// One fiber runs at a time, so what it does between two stops is atomic, and seen by those behind it.
template <typename T>
T atomicExch(T* at, T value) {
  const T before = *at;
  *at = value;
  return before;
}
template <typename T>
T atomicAdd(T* at, T value) {
  return atomicExch(at, static_cast<T>(*at + value));
}
template <typename T>
T atomicMax(T* at, T value) {
  return atomicExch(at, *at < value ? value : *at);
}
template <typename T>
T atomicCAS(T* at, T expected, T value) {
  return atomicExch(at, *at == expected ? value : *at);
}
inline unsigned atomicInc(unsigned* at, unsigned last) { return atomicExch(at, *at >= last ? 0 : *at + 1); }

inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}

template <typename T>
T __ldg(const T* at) {
  return *at;
}
template <typename T>
T __ldcg(const T* at) {
  return *at;
}

#endif  // PARTITA_TESTS_OPS_CUDA_FIBERS_CUDA_RUNTIME_H_
