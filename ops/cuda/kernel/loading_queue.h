// A queue that loads the code of the kernels that are enqueued, and does nothing else.
//
// CUDA loads a kernel when it is first used. That may wait for all work of the GPU, and a capture may refuse it, so the
// code of a step is loaded before the step is captured or launched.
#ifndef PARTITA_OPS_CUDA_KERNEL_LOADING_QUEUE_H_
#define PARTITA_OPS_CUDA_KERNEL_LOADING_QUEUE_H_

#include <functional>
#include <utility>

#include "absl/status/status.h"
#include "ops/cuda/launch/launch.h"

namespace partita {

// Loads a __global__ function for the GPU.
using LoadFunction = std::function<absl::Status(const void* function)>;

class LoadingQueue : public LaunchQueue {
 public:
  explicit LoadingQueue(LoadFunction load) : load_(std::move(load)) {}

  // Whether BeginWork gave it: then the library is not called. What a library runs is loaded by PlanLoader.
  static bool Gave(const CUstream_st* stream) { return stream == Stream(); }

  LaunchError Launch(const void* function, const LaunchShape&, void**) override {
    status_.Update(load_(function));
    return status_.ok() ? LaunchError::kNone : LaunchError::kQueue;
  }
  LaunchError Copy(void*, const void*, int64_t) override { return LaunchError::kNone; }
  LaunchError Zero(void*, int64_t) override { return LaunchError::kNone; }
  CUstream_st* BeginWork() override { return Stream(); }

  const absl::Status& status() const { return status_; }  // of what was loaded

 private:
  static CUstream_st* Stream() {
    static char place;
    return reinterpret_cast<CUstream_st*>(&place);
  }

  const LoadFunction load_;
  absl::Status status_;
};

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_KERNEL_LOADING_QUEUE_H_
