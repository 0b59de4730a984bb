// A queue that counts what is enqueued and does nothing of it.
#ifndef PARTITA_OPS_CUDA_COUNTING_QUEUE_H_
#define PARTITA_OPS_CUDA_COUNTING_QUEUE_H_

#include "ops/cuda/launch/launch.h"

namespace partita {

// For kernels of our own: it has no stream for a library.
class CountingQueue : public LaunchQueue {
 public:
  LaunchError Launch(const void*, const LaunchShape&, void**) override { return Count(); }
  LaunchError Copy(void*, const void*, int64_t) override { return Count(); }
  LaunchError Zero(void*, int64_t) override { return Count(); }
  CUstream_st* BeginWork() override { return nullptr; }

  int launches() const { return launches_; }

 private:
  LaunchError Count() {
    ++launches_;
    return LaunchError::kNone;
  }

  int launches_ = 0;
};

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_COUNTING_QUEUE_H_
