// The functions of cuDNN 9 that Partita calls, as a table: the library's, opened at run time, or a test's. Descriptors
// of its graph are made, set and finalized through a few functions; the headers' enumerations say the rest.
#ifndef PARTITA_OPS_CUDA_CUDNN_CUDNN_API_H_
#define PARTITA_OPS_CUDA_CUDNN_CUDNN_API_H_

#include <cudnn.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace partita {

#define PARTITA_CUDNN_FUNCTIONS(X) \
  X(cudnnBackendCreateDescriptor)  \
  X(cudnnBackendDestroyDescriptor) \
  X(cudnnBackendExecute)           \
  X(cudnnBackendFinalize)          \
  X(cudnnBackendGetAttribute)      \
  X(cudnnBackendSetAttribute)      \
  X(cudnnCreate)                   \
  X(cudnnDestroy)                  \
  X(cudnnGetErrorString)           \
  X(cudnnGetVersion)               \
  X(cudnnSetStream)

struct CudnnApi {
#define PARTITA_CUDNN_SLOT(name) decltype(&::name) name = nullptr;
  PARTITA_CUDNN_FUNCTIONS(PARTITA_CUDNN_SLOT)
#undef PARTITA_CUDNN_SLOT
};

// kUnavailable: the library was not found or is of another version; says where it was looked for.
absl::StatusOr<CudnnApi> LoadCudnn();

// OK, or what `call` answered: kInvalidArgument for what the library does not support, kUnavailable for a device that
// does not work, kResourceExhausted for memory, else kInternal.
absl::Status CudnnStatus(const CudnnApi& api, cudnnStatus_t status, const std::string& call);

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_CUDNN_CUDNN_API_H_
