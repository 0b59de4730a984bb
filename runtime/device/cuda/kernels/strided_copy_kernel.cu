#include <cuda_runtime.h>

#include "runtime/base/kernel_address.h"
#include "runtime/device/cuda/kernels/strided_copy_kernel.h"

namespace partita {
namespace {

// `Index` is 32 bits wide where that is enough: divisions are then several times cheaper.
template <typename Access, typename Index>
__global__ void __launch_bounds__(StridedCopyArguments::kThreads) CopyAccesses(const StridedCopyArguments a) {
  const Index step = static_cast<Index>(gridDim.x) * blockDim.x;
  const Index count = static_cast<Index>(a.accesses);
  for (Index i = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    Index rest = i;
    int64_t from = 0, to = 0;
    for (int d = 0; d + 1 < a.dimensions; ++d) {
      const Index size = static_cast<Index>(a.size[d]);
      const Index next = rest / size;
      const int64_t place = rest - next * size;
      from += place * a.from_stride[d];
      to += place * a.to_stride[d];
      rest = next;
    }
    const int last = a.dimensions - 1;
    from += static_cast<int64_t>(rest) * a.from_stride[last];
    to += static_cast<int64_t>(rest) * a.to_stride[last];
    *reinterpret_cast<Access*>(a.to + to) = *reinterpret_cast<const Access*>(a.from + from);
  }
}

template <typename Index>
const void* KernelOfWidth(int width) {
  switch (width) {
    case 16:
      return PARTITA_KERNEL_ADDRESS(CopyAccesses<uint4, Index>);
    case 8:
      return PARTITA_KERNEL_ADDRESS(CopyAccesses<uint2, Index>);
    case 4:
      return PARTITA_KERNEL_ADDRESS(CopyAccesses<unsigned, Index>);
    case 2:
      return PARTITA_KERNEL_ADDRESS(CopyAccesses<unsigned short, Index>);
    default:
      return PARTITA_KERNEL_ADDRESS(CopyAccesses<unsigned char, Index>);
  }
}

}  // namespace

const void* StridedCopyKernel(const StridedCopyArguments& arguments) {
  // A thread's next index must not pass 2^32 either.
  const bool narrow = arguments.accesses < (int64_t{1} << 31);
  return narrow ? KernelOfWidth<unsigned>(arguments.width) : KernelOfWidth<unsigned long long>(arguments.width);
}

}  // namespace partita
