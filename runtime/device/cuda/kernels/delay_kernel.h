// A kernel of one thread that waits.
#ifndef PARTITA_RUNTIME_DEVICE_CUDA_KERNELS_DELAY_KERNEL_H_
#define PARTITA_RUNTIME_DEVICE_CUDA_KERNELS_DELAY_KERNEL_H_

namespace partita {

// The __global__ function; its one argument: microseconds, an int.
const void* DelayKernel();

}  // namespace partita

#endif  // PARTITA_RUNTIME_DEVICE_CUDA_KERNELS_DELAY_KERNEL_H_
