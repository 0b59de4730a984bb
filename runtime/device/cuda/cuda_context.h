// The state that streams, events, arenas and steps of one GPU share: the table of functions, the GPU's number, and
// whether it is still usable.
#ifndef PARTITA_RUNTIME_DEVICE_CUDA_CUDA_CONTEXT_H_
#define PARTITA_RUNTIME_DEVICE_CUDA_CUDA_CONTEXT_H_

#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "runtime/device/cuda/cuda_api.h"

namespace partita {

// Thread-safe.
class CudaContext {
 public:
  CudaContext(const CudaApi& api, int index, std::string name) : api_(api), index_(index), name_(std::move(name)) {}

  const CudaApi& api() const { return api_; }
  int index() const { return index_; }
  const std::string& name() const { return name_; }

  // Makes this GPU the one of the calling thread; before every call. After a sticky error: that error, at once.
  absl::Status Activate();

  // Loads the code of a __global__ function, unless it was. CUDA loads at the first use, which may wait for all work of
  // the GPU, and which a capture may refuse.
  absl::Status Load(const void* function);

  // Gives the GPU up: from now on every use of it returns `why` (not OK). The first reason counts.
  void Kill(const absl::Status& why);

  // The same for destructors, which free what they own after any error.
  void ActivateToFree() const { api_.cudaSetDevice(index_); }

  // OK, or the error as a Status; one that is sticky ends the use of this GPU. `call`: the function's name.
  absl::Status Check(cudaError_t error, const char* call) { return Check(error, call, {}); }
  absl::Status Check(cudaError_t error, const char* call, const std::string& where);

 private:
  const CudaApi& api_;
  const int index_;
  const std::string name_;
  std::mutex mutex_;
  absl::Status dead_;
  std::set<const void*> loaded_;
};

// RETURN_IF_CUDA_ERROR(context, cudaMalloc, &data, bytes) calls the function of the context's table.
#define RETURN_IF_CUDA_ERROR(context, function, ...) \
  RETURN_IF_ERROR((context).Check((context).api().function(__VA_ARGS__), #function))

}  // namespace partita

#endif  // PARTITA_RUNTIME_DEVICE_CUDA_CUDA_CONTEXT_H_
