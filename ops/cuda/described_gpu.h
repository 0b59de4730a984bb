// A GPU as its libraries know it, so that a plan can be made for it where it is not.
#ifndef PARTITA_OPS_CUDA_DESCRIBED_GPU_H_
#define PARTITA_OPS_CUDA_DESCRIBED_GPU_H_

#include <memory>
#include <string>

#include "ops/cuda/cuda_libraries.h"
#include "ops/cuda/roofline.h"

namespace partita {

struct GpuDescription {
  std::string model;  // cudaDeviceProp::name
  int compute_capability = 0;
  int64_t memory_bytes = 0;
  std::string cudnn;  // what cuDNN reads: CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION
  GpuPeaks peaks;
};

const GpuDescription& H200();

// By its model; nullptr: it is not described.
const GpuDescription* FindDescription(const std::string& model);

// cuDNN and cuBLASLt for a GPU that need not be here: which kernels they have and what workspace these need, cuBLASLt's
// estimated. Nothing is timed; what they prepare is never bound. A library that is missing refuses, as in a run.
// `plans` must outlive what is returned.
std::shared_ptr<ForeignKernels> DescribeCudaLibraries(const GpuDescription& gpu, const CudaLibraryOptions& options,
                                                      PlanCache* plans);

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_DESCRIBED_GPU_H_
