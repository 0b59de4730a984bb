#include "ops/cuda/cudnn/cudnn_api.h"

#include <vector>

#include "runtime/base/status.h"
#include "runtime/device/cuda/library/lazy_library.h"

namespace partita {

absl::StatusOr<CudnnApi> LoadCudnn() {
  CudnnApi api;
  std::vector<LibrarySlot> slots;
#define PARTITA_CUDNN_SLOT(name) slots.push_back({#name, reinterpret_cast<void**>(&api.name)});
  PARTITA_CUDNN_FUNCTIONS(PARTITA_CUDNN_SLOT)
#undef PARTITA_CUDNN_SLOT
  const std::string file = fmt::format("libcudnn.so.{}", CUDNN_MAJOR);
  RETURN_IF_ERROR(LoadLibrary({"cuDNN", file}, slots));
  return api;
}

absl::Status CudnnStatus(const CudnnApi& api, cudnnStatus_t status, const std::string& call) {
  if (status == CUDNN_STATUS_SUCCESS) return absl::OkStatus();
  const std::string what = fmt::format("{} answers {}", call, api.cudnnGetErrorString(status));
  if (CUDNN_STATUS_CATEGORY(status) == CUDNN_STATUS_NOT_SUPPORTED) return InvalidArgument("{}", what);
  if (CUDNN_STATUS_CATEGORY(status) == CUDNN_STATUS_EXECUTION_FAILED) return Unavailable("{}", what);
  if (status == CUDNN_STATUS_NOT_INITIALIZED) return Unavailable("{}", what);
  if (status == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED) return ResourceExhausted("{}", what);
  if (status == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED) return ResourceExhausted("{}", what);
  return Internal("{}", what);
}

}  // namespace partita
