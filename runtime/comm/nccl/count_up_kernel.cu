#include <cuda_runtime.h>

#include "runtime/comm/nccl/count_up_kernel.h"

namespace partita {
namespace {

__global__ void CountUp(volatile unsigned long long* number) { *number = *number + 1; }

}  // namespace

const void* CountUpKernel() { return reinterpret_cast<const void*>(&CountUp); }

}  // namespace partita
