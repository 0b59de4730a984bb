#include <cuda_runtime.h>

#include "runtime/base/kernel_address.h"
#include "runtime/comm/cuda_local/reduce_kernel.h"
#include "runtime/comm/reduction_functors.h"

namespace partita {
namespace {

template <typename T, typename Function>
__global__ void __launch_bounds__(ReduceArguments::kThreads) Reduce(const ReduceArguments a) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < a.count; i += step) {
    T partial = static_cast<const T*>(a.in[0])[i];
    for (int rank = 1; rank < a.inputs; ++rank) partial = Function()(partial, static_cast<const T*>(a.in[rank])[i]);
    for (int rank = 0; rank < a.outputs; ++rank) static_cast<T*>(a.out[rank])[i] = partial;
  }
}

template <typename T>
const void* KernelOfType(Reduction reduction) {
  return reduction == Reduction::kSum ? PARTITA_KERNEL_ADDRESS(Reduce<T, ReduceAdd>)
                                      : PARTITA_KERNEL_ADDRESS(Reduce<T, ReduceMax>);
}

}  // namespace

const void* ReduceKernel(Reduction reduction, DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return KernelOfType<float>(reduction);
    case DType::kF64:
      return KernelOfType<double>(reduction);
    case DType::kI32:
      return KernelOfType<int32_t>(reduction);
    case DType::kBF16:
      return KernelOfType<Bf16>(reduction);
    default:
      return nullptr;
  }
}

}  // namespace partita
