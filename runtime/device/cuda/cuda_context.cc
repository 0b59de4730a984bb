#include "runtime/device/cuda/cuda_context.h"

#include <fmt/format.h>

#include "runtime/base/status.h"
#include "runtime/device/cuda/cuda_error.h"

namespace partita {

absl::Status CudaContext::Activate() {
  {
    std::lock_guard lock(mutex_);
    if (!dead_.ok()) return dead_;
  }
  return Check(api_.cudaSetDevice(index_), "cudaSetDevice");
}

absl::Status CudaContext::Check(cudaError_t error, const char* call, const std::string& where) {
  if (error == cudaSuccess) return absl::OkStatus();
  const std::string device = fmt::format("device '{}'", name_);
  const absl::Status status = CudaStatus(api_, error, call, where.empty() ? device : device + ": " + where);
  api_.cudaGetLastError();  // the runtime remembers an error until it is asked for
  if (IsSticky(error)) Kill(status);
  return status;
}

absl::Status CudaContext::Load(const void* function) {
  {
    std::lock_guard lock(mutex_);
    if (loaded_.contains(function)) return dead_;
  }
  RETURN_IF_ERROR(Activate());
  cudaFuncAttributes attributes = {};
  RETURN_IF_ERROR(Check(api_.cudaFuncGetAttributes(&attributes, function), "cudaFuncGetAttributes"));
  std::lock_guard lock(mutex_);
  loaded_.insert(function);
  return absl::OkStatus();
}

void CudaContext::Kill(const absl::Status& why) {
  std::lock_guard lock(mutex_);
  if (dead_.ok()) dead_ = why;
}

}  // namespace partita
