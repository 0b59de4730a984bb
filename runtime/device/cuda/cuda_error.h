// Converts errors of the CUDA runtime to Status: the call, the device and the caller. Only this file knows the meaning
// of error numbers; executor and session prepend node and rank to the message.
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
