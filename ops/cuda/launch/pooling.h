// Launches of pooling and its gradients. Gradients gather: an element of dx adds up what the windows that see it give,
// in row-major order of the output pixels, as the host does.
#ifndef PARTITA_OPS_CUDA_LAUNCH_POOLING_H_
#define PARTITA_OPS_CUDA_LAUNCH_POOLING_H_

#include <cstdint>

#include "graph/value/dtype.h"
#include "ops/cuda/launch/launch.h"
#include "ops/functors/geometry.h"

namespace partita::launch {

// Images of which a pixel lies `pitch` elements behind the one before, so that they may be some channels of wider ones.
template <typename Address>
struct PooledImages {
  Address* address = nullptr;
  int64_t pitch = 0;
};
using InImages = PooledImages<const void>;
using OutImages = PooledImages<void>;

LaunchError MaxPool(DType dtype, const Pooling& pool, InImages x, OutImages y, CudaQueue queue);
LaunchError MaxPoolGrad(DType dtype, const Pooling& pool, InImages x, InImages y, InImages dy, OutImages dx,
                        CudaQueue queue);

LaunchError AveragePool(DType dtype, const Pooling& pool, InImages x, OutImages y, CudaQueue queue);
LaunchError AveragePoolGrad(DType dtype, const Pooling& pool, InImages dy, OutImages dx, CudaQueue queue);

// dx[n,pixel,c] = dy[n,c] / divisor; `x` is the shape of dx as rows, `pixels` of them per sample.
LaunchError GlobalAveragePoolGrad(DType dtype, ChannelRows x, int64_t pixels, double divisor, const void* dy, void* dx,
                                  CudaQueue queue);

}  // namespace partita::launch

#endif  // PARTITA_OPS_CUDA_LAUNCH_POOLING_H_
