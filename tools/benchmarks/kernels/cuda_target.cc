// The kernel benchmark's GPU, in builds with CUDA.
#include "ops/cuda/cuda_kernels.h"
#include "ops/cuda/cuda_libraries.h"
#include "runtime/base/status.h"
#include "runtime/device/cuda/cuda_device.h"
#include "tools/benchmarks/kernels/kernel_benchmark.h"

namespace partita {

absl::StatusOr<KernelTarget> OpenCudaTarget(bool tf32) {
  ASSIGN_OR_RETURN(std::unique_ptr<CudaDevice> device, CudaDevice::Create({}));
  static PlanCache& plans = *new PlanCache();  // outlives all kernels
  CudaKernelOptions options;
  options.foreign = OpenCudaLibraries(*device, {.allow_tf32 = tf32}, &plans);
  KernelTarget target;
  target.name = device->model();
  target.kernels = MakeCudaKernels(std::move(options));
  target.device = std::move(device);
  target.batch = 256;
  target.side = 8192;
  return target;
}

}  // namespace partita
