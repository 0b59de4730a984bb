// The kernels of NVIDIA GPUs as the executor asks for them.
//
// A node's kernel is the first of its op's list (kernel_table.h) that takes it. Workspace is declared before execution;
// a launch enqueues and returns, and may be captured. Choices are cached by the node's computation, so equal nodes of
// all ranks of a process get the same kernel.
#ifndef PARTITA_OPS_CUDA_CUDA_KERNELS_H_
#define PARTITA_OPS_CUDA_CUDA_KERNELS_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ops/cuda/kernel/loading_queue.h"
#include "ops/cuda/kernel_table.h"
#include "ops/cuda/roofline.h"
#include "runtime/exec/kernel.h"

namespace partita {

struct CudaKernelOptions {
  // If not empty, only kernels of this family, as in tests: "cudnn", "cublaslt", "own" or "reference".
  std::string family = "";
  // Kernels of libraries; null: none. Owned by the library.
  std::shared_ptr<ForeignKernels> foreign = nullptr;
  // Called for each of our own functions that a kernel launches, when it is created; null: they are loaded when they
  // are launched.
  LoadFunction load = nullptr;
  // The limits of the GPU, if they are known, and whether TF32's apply to f32, for descriptions of nodes (Describe).
  std::optional<GpuPeaks> peaks = std::nullopt;
  bool allow_tf32 = false;
};

// Kernels that Create makes are launched on streams of a CudaDevice.
std::unique_ptr<KernelLibrary> MakeCudaKernels(CudaKernelOptions options);

// The names of an op's kernels in order of preference.
std::vector<std::string> CudaKernelNames(const std::string& op);

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_CUDA_KERNELS_H_
