// A StridedCopy in one launch: every thread moves some accesses of up to 16 bytes, neighbours move neighbouring ones.
#ifndef PARTITA_RUNTIME_DEVICE_CUDA_KERNELS_STRIDED_COPY_KERNEL_H_
#define PARTITA_RUNTIME_DEVICE_CUDA_KERNELS_STRIDED_COPY_KERNEL_H_

#include <cstdint>

namespace partita {

struct StridedCopy;

// The kernel's one argument.
struct StridedCopyArguments {
  static constexpr int kDimensions = 8;  // of runs, besides the one inside a run
  static constexpr unsigned kThreads = 256;

  const char* from;
  char* to;
  int64_t accesses;  // of the whole copy
  int width;         // bytes of an access: 1, 2, 4, 8 or 16; divides the run, both addresses and all strides
  int dimensions;    // the first is the run, in accesses
  int64_t size[kDimensions + 1];
  int64_t from_stride[kDimensions + 1], to_stride[kDimensions + 1];  // bytes

  // Enough to fill a large GPU; a thread then moves several accesses.
  unsigned blocks() const;
};

// False if there are too many dimensions. `copy` has at least one byte.
bool MakeStridedCopyArguments(const StridedCopy& copy, StridedCopyArguments& arguments);

// The __global__ function for these arguments.
const void* StridedCopyKernel(const StridedCopyArguments& arguments);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DEVICE_CUDA_KERNELS_STRIDED_COPY_KERNEL_H_
