// Launches of the reference contractions: matmul and convolution with its two gradients, sums taken in double. Every
// attribute, f32, f64 and bf16; slow, and right. And epilogues alone, after a library's product.
#ifndef PARTITA_OPS_CUDA_LAUNCH_CONTRACTION_H_
#define PARTITA_OPS_CUDA_LAUNCH_CONTRACTION_H_

#include "graph/value/dtype.h"
#include "ops/cuda/launch/launch.h"
#include "ops/functors/epilogue.h"
#include "ops/functors/geometry.h"

namespace partita::launch {

// y[m,n] = sum over k of x[m,k] w[k,n], either operand perhaps stored transposed.
struct MatMulSizes {
  int64_t m = 0, n = 0, k = 0;
  bool transpose_x = false, transpose_w = false;
};

// What follows the sum, before it is rounded (ops/functors/epilogue.h). `bias` is of the dtype's accumulator; null:
// none.
struct EpilogueLaunch {
  const void* bias = nullptr;
  int activation = kNoActivation;
};

LaunchError MatMul(DType dtype, const MatMulSizes& sizes, const EpilogueLaunch& epilogue, const void* x, const void* w,
                   void* y, CudaQueue queue);

// Several products of one size.
LaunchError BatchMatMul(DType dtype, const BatchPlaces& places, const MatMulSizes& sizes, const void* x, const void* w,
                        void* y, CudaQueue queue);

// y is of the dtype's accumulator: f32 of bf16.
LaunchError WideMatMul(DType dtype, const MatMulSizes& sizes, const EpilogueLaunch& epilogue, const void* x,
                       const void* w, void* y, CudaQueue queue);

LaunchError Conv2d(DType dtype, const Convolution& conv, const EpilogueLaunch& epilogue, const void* x, const void* w,
                   void* y, CudaQueue queue);
LaunchError Conv2dInputGrad(DType dtype, const Convolution& conv, const void* dy, const void* w, void* dx,
                            CudaQueue queue);
LaunchError Conv2dWeightGrad(DType dtype, const Convolution& conv, const void* x, const void* dy, void* dw,
                             CudaQueue queue);

// The epilogue of what y holds, in place: of rows of channels, or of the pixels of a convolution's output, which may be
// a part of larger images.
LaunchError AddEpilogue(DType dtype, ChannelRows shape, const EpilogueLaunch& epilogue, void* y, CudaQueue queue);
LaunchError AddEpilogue(DType dtype, const Convolution& conv, const EpilogueLaunch& epilogue, void* y, CudaQueue queue);

}  // namespace partita::launch

#endif  // PARTITA_OPS_CUDA_LAUNCH_CONTRACTION_H_
