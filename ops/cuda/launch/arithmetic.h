// Launches of element-wise ops, bias, dropout, casts and pixels. Sizes in elements; outputs may lie at the address of
// an input.
#ifndef PARTITA_OPS_CUDA_LAUNCH_ARITHMETIC_H_
#define PARTITA_OPS_CUDA_LAUNCH_ARITHMETIC_H_

#include <cstdint>

#include "graph/value/dtype.h"
#include "ops/cuda/launch/launch.h"
#include "ops/functors/geometry.h"
#include "ops/functors/pixels.h"

namespace partita::launch {

LaunchError Constant(DType dtype, double value, void* y, int64_t elements, CudaQueue queue);
LaunchError Cast(DType from, DType to, const void* x, void* y, int64_t elements, CudaQueue queue);
// Of bytes x; not of bf16.
LaunchError Pixels(DType to, const PixelScale& scale, const uint8_t* x, void* y, int64_t elements, CudaQueue queue);

// The op at that place of UnaryOps, or of BinaryOps (ops/functors/elementwise.h).
LaunchError Unary(int place, DType dtype, const void* x, void* y, int64_t elements, CudaQueue queue);
LaunchError Binary(int place, DType dtype, const void* a, const void* b, void* y, int64_t elements, CudaQueue queue);

// y = x[0] + ... + x[count - 1], in this order; only x[0] may lie where y does.
LaunchError Add(DType dtype, const void* const* x, int count, void* y, int64_t elements, CudaQueue queue);

// y = factor x
LaunchError Scale(DType dtype, double factor, const void* x, void* y, int64_t elements, CudaQueue queue);
// y = x / s, a scalar in device memory. Not of bf16.
LaunchError Over(DType dtype, const void* x, const void* s, void* y, int64_t elements, CudaQueue queue);

// y = x + b; b has one value per channel.
LaunchError Bias(DType dtype, const void* x, const void* b, void* y, ChannelRows shape, CudaQueue queue);

// What random numbers are drawn for: by whom, in which step, and for which elements.
struct DrawLaunch {
  GlobalBlock block;
  uint64_t key = 0;
  const int32_t* iteration = nullptr;  // in device memory; null: 0
};
struct DropoutLaunch : DrawLaunch {
  double rate = 0;
};
LaunchError Dropout(DType dtype, const DropoutLaunch& dropout, const void* x, void* y, int64_t elements,
                    CudaQueue queue);

// Uniform numbers of [0, 1), or normal ones.
LaunchError Noise(DType dtype, const DrawLaunch& draw, bool normal, void* y, int64_t elements, CudaQueue queue);

// The place of each element along a dimension.
LaunchError Positions(DType dtype, const DimensionPlaces& places, void* y, int64_t elements, CudaQueue queue);

}  // namespace partita::launch

#endif  // PARTITA_OPS_CUDA_LAUNCH_ARITHMETIC_H_
