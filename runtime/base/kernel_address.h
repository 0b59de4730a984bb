// The address of a __global__ function, by which a stream knows what to launch; for .cu files.
#ifndef PARTITA_RUNTIME_BASE_KERNEL_ADDRESS_H_
#define PARTITA_RUNTIME_BASE_KERNEL_ADDRESS_H_

// Without nvcc, the code that runs the kernels provides it (tests/ops/cuda/fibers).
#ifndef PARTITA_KERNEL_ADDRESS
#define PARTITA_KERNEL_ADDRESS(...) reinterpret_cast<const void*>(&__VA_ARGS__)
#endif

#endif  // PARTITA_RUNTIME_BASE_KERNEL_ADDRESS_H_
