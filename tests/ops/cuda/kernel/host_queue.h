// A queue for libraries, and for emulated kernels of ours where they are expected, that compute here and now.
#ifndef PARTITA_TESTS_OPS_CUDA_KERNEL_HOST_QUEUE_H_
#define PARTITA_TESTS_OPS_CUDA_KERNEL_HOST_QUEUE_H_

#include <cstring>

#include "ops/cuda/launch/launch.h"

namespace partita {

class HostQueue : public LaunchQueue {
 public:
  bool refuse = false;
  int launches_allowed = 0;  // and copies, and zeros
  LaunchError Launch(const void*, const LaunchShape&, void**) override {
    return launches_allowed-- > 0 ? kLaunched : LaunchError::kQueue;
  }
  LaunchError Copy(void* to, const void* from, int64_t bytes) override {
    if (launches_allowed-- <= 0) return LaunchError::kQueue;
    std::memcpy(to, from, static_cast<size_t>(bytes));
    return kLaunched;
  }
  LaunchError Zero(void* to, int64_t bytes) override {
    if (launches_allowed-- <= 0) return LaunchError::kQueue;
    std::memset(to, 0, static_cast<size_t>(bytes));
    return kLaunched;
  }
  CUstream_st* BeginWork() override { return refuse ? nullptr : reinterpret_cast<CUstream_st*>(this); }
};

}  // namespace partita

#endif  // PARTITA_TESTS_OPS_CUDA_KERNEL_HOST_QUEUE_H_
