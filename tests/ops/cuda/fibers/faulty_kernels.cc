// Device code, compiled as the .cu files are.
#include "tests/ops/cuda/fibers/faulty_kernels.h"

#include <cuda_runtime.h>

namespace partita::fibers {
namespace {

__global__ void HalfABarrier() {
  if (threadIdx.x < 32) __syncthreads();
}

__global__ void TwoBarriers() {
  if (threadIdx.x % 2 == 0) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}

__global__ void AbsentLane() {
  if (threadIdx.x < 16) __shfl_sync(0xffffu, 1, 20);
}

__global__ void Shifted(const float* x, float* y, int64_t count, int64_t shift) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) y[i] = x[i + shift];
}

// The grid finds it, not the sanitizer.
__attribute__((no_sanitize("undefined"))) __global__ void Pairs(const float* x, float* y, int64_t pairs) {
  const double* const from = reinterpret_cast<const double*>(x);
  if (int64_t{threadIdx.x} < pairs) reinterpret_cast<double*>(y)[threadIdx.x] = from[threadIdx.x];
}

__global__ void LastBlock(float* y) { *y = static_cast<float>(blockIdx.x); }

template <bool kWaits>
__global__ void Neighbours(float* y) {
  __shared__ float values[256];
  values[threadIdx.x] = static_cast<float>(threadIdx.x);
  if (kWaits) __syncthreads();
  y[blockIdx.x * blockDim.x + threadIdx.x] = values[blockDim.x - 1 - threadIdx.x];
}

__global__ void LastBlockSums(const float* x, int64_t count, float* y, unsigned* counter, float* sum) {
  __shared__ bool is_last;
  float own = 0;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) own += x[i];
  for (int lanes = warpSize / 2; lanes > 0; lanes /= 2) own += __shfl_xor_sync(~0u, own, lanes);
  if (threadIdx.x == 0) {
    y[blockIdx.x] = own;
    __threadfence();
    is_last = atomicInc(counter, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last || threadIdx.x != 0) return;
  *sum = 0;
  for (unsigned block = 0; block < gridDim.x; ++block) *sum += y[block];
}

struct Long {
  char bytes[32768];
};

__global__ void LongArguments(const Long) {}

}  // namespace

LaunchError LaunchHalfABarrier(CudaQueue queue) {
  return queue->Launch(PARTITA_KERNEL_ADDRESS(HalfABarrier), {3, 64, 1}, nullptr);
}

LaunchError LaunchTwoBarriers(CudaQueue queue) {
  return queue->Launch(PARTITA_KERNEL_ADDRESS(TwoBarriers), {1, 64, 1}, nullptr);
}

LaunchError LaunchAbsentLane(CudaQueue queue) {
  return queue->Launch(PARTITA_KERNEL_ADDRESS(AbsentLane), {1, 32, 1}, nullptr);
}

LaunchError LaunchShifted(const float* x, float* y, int64_t count, int64_t shift, CudaQueue queue) {
  void* arguments[] = {&x, &y, &count, &shift};
  return queue->Launch(PARTITA_KERNEL_ADDRESS(Shifted), {(count + 31) / 32, 32, 1}, arguments);
}

LaunchError LaunchPairs(const float* x, float* y, int64_t pairs, CudaQueue queue) {
  void* arguments[] = {&x, &y, &pairs};
  return queue->Launch(PARTITA_KERNEL_ADDRESS(Pairs), {1, 32, 1}, arguments);
}

LaunchError LaunchLastBlock(float* y, int64_t blocks, CudaQueue queue) {
  void* arguments[] = {&y};
  return queue->Launch(PARTITA_KERNEL_ADDRESS(LastBlock), {blocks, 1, 1}, arguments);
}

LaunchError LaunchNoBarrier(float* y, int threads, CudaQueue queue) {
  void* arguments[] = {&y};
  return queue->Launch(PARTITA_KERNEL_ADDRESS(Neighbours<false>), {2, threads, 1}, arguments);
}

LaunchError LaunchBarrier(float* y, int threads, CudaQueue queue) {
  void* arguments[] = {&y};
  return queue->Launch(PARTITA_KERNEL_ADDRESS(Neighbours<true>), {2, threads, 1}, arguments);
}

LaunchError LaunchLastBlockSums(const float* x, int64_t count, int64_t blocks, float* y, unsigned* counter, float* sum,
                                CudaQueue queue) {
  void* arguments[] = {&x, &count, &y, &counter, &sum};
  return queue->Launch(PARTITA_KERNEL_ADDRESS(LastBlockSums), {blocks, 32, 1}, arguments);
}

LaunchError LaunchLongArguments(CudaQueue queue) {
  Long value{};
  void* arguments[] = {&value};
  return queue->Launch(PARTITA_KERNEL_ADDRESS(LongArguments), {1, 1, 1}, arguments);
}

}  // namespace partita::fibers
