#include "runtime/device/cuda/cuda_error.h"

#include "runtime/base/status.h"

namespace partita {
namespace {

absl::StatusCode CodeOf(cudaError_t error) {
  if (IsSticky(error)) return absl::StatusCode::kUnavailable;
  switch (error) {
    case cudaErrorMemoryAllocation:
      return absl::StatusCode::kResourceExhausted;
    case cudaErrorInitializationError:
    case cudaErrorInsufficientDriver:
    case cudaErrorNoDevice:
    case cudaErrorDevicesUnavailable:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorSystemNotReady:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorCompatNotSupportedOnDevice:
    case cudaErrorSharedObjectInitFailed:
    case cudaErrorOperatingSystem:
      return absl::StatusCode::kUnavailable;
    default:
      return absl::StatusCode::kInternal;
  }
}

}  // namespace

bool IsSticky(cudaError_t error) {
  switch (error) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContained:
    case cudaErrorTensorMemoryLeak:
    case cudaErrorExternalDevice:
    case cudaErrorMpsConnectionFailed:
    case cudaErrorMpsRpcFailure:
    case cudaErrorMpsServerNotReady:
    case cudaErrorUnknown:
      return true;
    default:
      return false;
  }
}

absl::Status CudaStatus(const CudaApi& api, cudaError_t error, const std::string& call, const std::string& where) {
  std::string message =
      fmt::format("{}: {}: {} ({})", where, call, api.cudaGetErrorString(error), api.cudaGetErrorName(error));
  if (IsSticky(error)) message += "; the device cannot be used any more by this process";
  return absl::Status(CodeOf(error), message);
}

}  // namespace partita
