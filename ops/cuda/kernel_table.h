// The list of all kernels of the GPU: for each op those that compute it, the preferred one first, the last one of our
// own and for everything. A kernel that cannot run a node says why; the next one is asked.
#ifndef PARTITA_OPS_CUDA_KERNEL_TABLE_H_
#define PARTITA_OPS_CUDA_KERNEL_TABLE_H_

#include <string>
#include <vector>

#include "ops/cuda/cuda_kernel.h"

namespace partita {

struct CudaKernelEntry {
  const char* family;  // "own", "reference"; a kernel is called <family>_<op>
  absl::StatusOr<PreparedCudaKernel> (*prepare)(const LocalNode& node);
};

// Empty for an op without kernels (a state, a move).
const std::vector<CudaKernelEntry>& CudaKernelEntries(const std::string& op);

// Names of the ops that have kernels, sorted.
std::vector<std::string> CudaKernelOps();

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_KERNEL_TABLE_H_
