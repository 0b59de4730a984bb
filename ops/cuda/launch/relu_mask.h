// Masks of a relu (ops/functors/relu_mask.h) by themselves, where no product makes or reads them. f32, f64 and bf16.
#ifndef PARTITA_OPS_CUDA_LAUNCH_RELU_MASK_H_
#define PARTITA_OPS_CUDA_LAUNCH_RELU_MASK_H_

#include "graph/value/dtype.h"
#include "ops/cuda/launch/launch.h"
#include "ops/functors/geometry.h"

namespace partita::launch {

// That of y, which is of a relu.
LaunchError WriteReluMask(DType dtype, ChannelRows shape, const void* y, void* mask, CudaQueue queue);

// Makes 0 what has no bit, in place.
LaunchError ApplyReluMask(DType dtype, ChannelRows shape, const void* mask, void* dx, CudaQueue queue);

}  // namespace partita::launch

#endif  // PARTITA_OPS_CUDA_LAUNCH_RELU_MASK_H_
