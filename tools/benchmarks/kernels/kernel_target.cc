#include "tools/benchmarks/kernels/kernel_target.h"

#include "runtime/api/backend/backend.h"
#include "runtime/base/status.h"
#include "runtime/device/host/host_device.h"

namespace partita {

absl::StatusOr<KernelTarget> OpenTarget(const SessionOptions& options) {
  ASSIGN_OR_RETURN(const std::shared_ptr<Backend> backend, Backend::OpenToPlan(1, Spread::kThreads, options));
  RETURN_IF_ERROR(backend->gpu_missing());
  KernelTarget target;
  target.name = backend->device_name();
  target.kernels = std::shared_ptr<const KernelLibrary>(backend, &backend->kernels());
  if (backend->gpu() != nullptr) {
    target.device = std::shared_ptr<Device>(backend, backend->gpu());
    target.batch = 256;
    target.side = 8192;
  } else {
    target.device = std::make_shared<HostDevice>(HostDeviceOptions{.threads = backend->threads_per_rank()});
    target.batch = 16;
    target.side = 1024;
  }
  return target;
}

}  // namespace partita
