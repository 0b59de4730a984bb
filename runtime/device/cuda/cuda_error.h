// Errors of the CUDA runtime as Status: what was called, on which device, and by whom. The only place that knows what
// an error number means; node and rank are put before the message by those who know them (executor, session).
#ifndef PARTITA_RUNTIME_DEVICE_CUDA_CUDA_ERROR_H_
#define PARTITA_RUNTIME_DEVICE_CUDA_CUDA_ERROR_H_

#include <string>

#include "absl/status/status.h"
#include "runtime/device/cuda/cuda_api.h"

namespace partita {

// True for errors after which every further call of the process fails as well: the device must be given up, and
// the process started anew.
bool IsSticky(cudaError_t error);

// kResourceExhausted: out of memory. kUnavailable: the device is gone (sticky), there is none, or it cannot run this
// program. kInternal: a bug of ours. `where`: "stream 'compute'"; `error` is not cudaSuccess.
absl::Status CudaStatus(const CudaApi& api, cudaError_t error, const std::string& call, const std::string& where);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DEVICE_CUDA_CUDA_ERROR_H_
