// cuDNN and cuBLASLt for one GPU, opened when they are there. Where one is missing its kernels refuse with the reason,
// and the next kernel of the list is asked.
#ifndef PARTITA_OPS_CUDA_CUDA_LIBRARIES_H_
#define PARTITA_OPS_CUDA_CUDA_LIBRARIES_H_

#include <functional>
#include <memory>
#include <string>

#include "ops/cuda/cudnn/cudnn_convolution.h"
#include "ops/cuda/kernel_table.h"
#include "ops/plans/plan_cache.h"
#include "runtime/device/cuda/cuda_device.h"

namespace partita {

struct CudaLibraryOptions {
  bool allow_tf32 = false;
  bool deterministic = true;                               // never times, never takes a kernel whose bits may differ
  std::function<void(const std::string&)> tell = nullptr;  // CudnnOptions::tell
};

// `device` must outlive what is returned and all kernels of it; so must `plans`.
std::shared_ptr<ForeignKernels> OpenCudaLibraries(CudaDevice& device, const CudaLibraryOptions& options,
                                                  PlanCache* plans);

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_CUDA_LIBRARIES_H_
