// The interface between the .cu files and the rest: plain pointers, sizes, and a queue to launch on. No header of CUDA
// and none of Abseil, so that either side compiles without the other.
#ifndef PARTITA_OPS_CUDA_LAUNCH_LAUNCH_H_
#define PARTITA_OPS_CUDA_LAUNCH_LAUNCH_H_

#include <cstdint>

struct CUstream_st;  // what a cudaStream_t points to

namespace partita {

enum class LaunchError {
  kNone,          // enqueued
  kUnknownDType,  // a kernel that does not know the dtype: a bug of the caller
  kQueue,         // the queue refused, and knows why
};
inline constexpr LaunchError kLaunched = LaunchError::kNone;
inline constexpr LaunchError kInvalidLaunch = LaunchError::kUnknownDType;

// Blocks of lanes x depth threads.
struct LaunchShape {
  int64_t blocks = 0;  // at most 2^31 - 1
  int lanes = 1, depth = 1;
};

// A stream as the launches see it. Everything returns at once.
class LaunchQueue {
 public:
  virtual ~LaunchQueue() = default;

  // `function` is the address of a __global__ function; `arguments` those of its arguments, read during the call.
  virtual LaunchError Launch(const void* function, const LaunchShape& shape, void** arguments) = 0;
  virtual LaunchError Copy(void* to, const void* from, int64_t bytes) = 0;
  virtual LaunchError Zero(void* to, int64_t bytes) = 0;

  // The stream, for a library that enqueues one piece of work by itself, right now; null: the queue refused.
  virtual CUstream_st* BeginWork() = 0;
};

using CudaQueue = LaunchQueue*;

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_LAUNCH_LAUNCH_H_
