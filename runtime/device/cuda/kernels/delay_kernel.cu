#include <cuda_runtime.h>

#include <cstdint>

#include "runtime/base/kernel_address.h"
#include "runtime/device/cuda/kernels/delay_kernel.h"

namespace partita {
namespace {

__device__ uint64_t Nanoseconds() {
  uint64_t now = 0;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

__global__ void Delay(int microseconds) {
  const uint64_t end = Nanoseconds() + static_cast<uint64_t>(microseconds) * 1000;
  while (Nanoseconds() < end) __nanosleep(500);
}

}  // namespace

const void* DelayKernel() { return PARTITA_KERNEL_ADDRESS(Delay); }

}  // namespace partita
