// Launch of the adjoint of a halo exchange: parts of a tensor are added where they lie.
#ifndef PARTITA_OPS_CUDA_LAUNCH_HALO_H_
#define PARTITA_OPS_CUDA_LAUNCH_HALO_H_

#include "graph/value/dtype.h"
#include "ops/cuda/launch/launch.h"
#include "ops/functors/geometry.h"

namespace partita::launch {

// sum += part, over what the blocks of the two have in common. `common` may have no elements.
LaunchError AddPart(DType dtype, const GlobalBlock& common, const GlobalBlock& part_block, const void* part,
                    const GlobalBlock& sum_block, void* sum, CudaQueue queue);

}  // namespace partita::launch

#endif  // PARTITA_OPS_CUDA_LAUNCH_HALO_H_
