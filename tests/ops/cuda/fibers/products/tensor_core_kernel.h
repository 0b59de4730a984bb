// A block that multiplies a tile of bf16 by the instructions of tensor cores, which are played as PTX describes them.
#ifndef PARTITA_TESTS_OPS_CUDA_FIBERS_PRODUCTS_TENSOR_CORE_KERNEL_H_
#define PARTITA_TESTS_OPS_CUDA_FIBERS_PRODUCTS_TENSOR_CORE_KERNEL_H_

#include "ops/cuda/launch/launch.h"
#include "runtime/base/bf16.h"

namespace partita::fibers {

// y[64,64] = x[64,32] w[32,64], twice where `chunks` is 2; transposed: w[64,32].
LaunchError LaunchTensorCores(bool transposed, int chunks, const Bf16* x, const Bf16* w, float* y, CudaQueue queue);

}  // namespace partita::fibers

#endif  // PARTITA_TESTS_OPS_CUDA_FIBERS_PRODUCTS_TENSOR_CORE_KERNEL_H_
