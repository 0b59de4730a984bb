#include "ops/cuda/cublaslt/cublaslt_api.h"

#include <vector>

#include "runtime/base/status.h"
#include "runtime/device/cuda/library/lazy_library.h"

namespace partita {

absl::StatusOr<CublasLtApi> LoadCublasLt() {
  CublasLtApi api;
  std::vector<LibrarySlot> slots;
#define PARTITA_CUBLASLT_SLOT(name) slots.push_back({#name, reinterpret_cast<void**>(&api.name)});
  PARTITA_CUBLASLT_FUNCTIONS(PARTITA_CUBLASLT_SLOT)
#undef PARTITA_CUBLASLT_SLOT
  const std::string file = fmt::format("libcublasLt.so.{}", CUBLAS_VER_MAJOR);
  RETURN_IF_ERROR(LoadLibrary({"cuBLASLt", file}, slots));
  return api;
}

absl::Status CublasLtStatus(const CublasLtApi& api, cublasStatus_t status, const std::string& call) {
  if (status == CUBLAS_STATUS_SUCCESS) return absl::OkStatus();
  const std::string what = fmt::format("{} answers {}", call, api.cublasLtGetStatusName(status));
  switch (status) {
    case CUBLAS_STATUS_NOT_INITIALIZED:
    case CUBLAS_STATUS_ARCH_MISMATCH:
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return Unavailable("{}", what);
    case CUBLAS_STATUS_ALLOC_FAILED:
      return ResourceExhausted("{}", what);
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return InvalidArgument("{}", what);
    default:
      return Internal("{}", what);
  }
}

}  // namespace partita
