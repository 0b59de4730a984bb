// A loop over elements that all need a common value: each block computes it once from the device's memory. For .cu
// files; like loops.h, also on the CPU.
//
//   ForEachGiven  body(i, given) for 0 <= i < count, in any order, with a Body::Given that body.Make fills in where all
//   read it
#ifndef PARTITA_OPS_CUDA_LOOPS_GIVEN_H_
#define PARTITA_OPS_CUDA_LOOPS_GIVEN_H_

#include <cstdint>
#include <type_traits>

#include "ops/cuda/loops/loops.h"

namespace partita {

#ifdef __CUDACC__

template <typename Body>
__global__ void __launch_bounds__(kBlockThreads, kForEachBlocks)
    ForEachGivenKernel(int64_t count, const __grid_constant__ Body body) {
  __shared__ typename Body::Given given;
  if (threadIdx.x == 0) body.Make(given);
  __syncthreads();
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  PARTITA_NOT_UNROLLED
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) body(i, given);
}

template <typename Body>
LaunchError ForEachGiven(int64_t count, const Body& body, CudaQueue queue) {
  static_assert(std::is_trivially_copyable_v<Body> && std::is_trivially_default_constructible_v<typename Body::Given>);
  if (count <= 0) return kLaunched;
  const LaunchShape shape{Blocks((count + kBlockThreads - 1) / kBlockThreads), kBlockThreads, 1};
  return LaunchLoop<Body, ForEachGivenKernel<Body>>(shape, count, body, queue);
}

#else  // the same loop without a GPU, backwards as ForEach

template <typename Body>
LaunchError ForEachGiven(int64_t count, const Body& body, CudaQueue queue) {
  static_assert(std::is_trivially_copyable_v<Body> && std::is_trivially_default_constructible_v<typename Body::Given>);
  if (count <= 0) return kLaunched;
  const int64_t blocks = (count + kBlockThreads - 1) / kBlockThreads;
  if (const LaunchError error = Ask(blocks, kBlockThreads, 1, queue); error != kLaunched) return error;
  typename Body::Given given;
  body.Make(given);
  for (int64_t i = count; i-- > 0;) body(i, given);
  return kLaunched;
}

#endif  // __CUDACC__

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_LOOPS_GIVEN_H_
