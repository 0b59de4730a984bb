// Launches of kernels that are wrong, each in one way, and of some that are right: what the grid must tell apart.
#ifndef PARTITA_TESTS_OPS_CUDA_FIBERS_FAULTY_KERNELS_H_
#define PARTITA_TESTS_OPS_CUDA_FIBERS_FAULTY_KERNELS_H_

#include <cstdint>

#include "ops/cuda/launch/launch.h"

namespace partita::fibers {

// Half of the threads of a block wait for all.
LaunchError LaunchHalfABarrier(CudaQueue queue);
// The threads wait at two places for each other.
LaunchError LaunchTwoBarriers(CudaQueue queue);
// Half of a warp asks a lane that does not take part.
LaunchError LaunchAbsentLane(CudaQueue queue);
// y[i] = x[i + shift], i below count.
LaunchError LaunchShifted(const float* x, float* y, int64_t count, int64_t shift, CudaQueue queue);
// Two floats at once.
LaunchError LaunchPairs(const float* x, float* y, int64_t pairs, CudaQueue queue);
// *y = the last block that comes.
LaunchError LaunchLastBlock(float* y, int64_t blocks, CudaQueue queue);
// Each thread takes what its neighbour has left in shared memory, without waiting for it.
LaunchError LaunchNoBarrier(float* y, int threads, CudaQueue queue);
// The same, waiting.
LaunchError LaunchBarrier(float* y, int threads, CudaQueue queue);
// The sum of x by shuffles in a warp, partial sums in y, and the last block that finishes, which adds them up in order
// in *sum. `counter` is 0 before and after.
LaunchError LaunchLastBlockSums(const float* x, int64_t count, int64_t blocks, float* y, unsigned* counter, float* sum,
                                CudaQueue queue);
// More bytes of arguments than a launch takes.
LaunchError LaunchLongArguments(CudaQueue queue);

}  // namespace partita::fibers

#endif  // PARTITA_TESTS_OPS_CUDA_FIBERS_FAULTY_KERNELS_H_
