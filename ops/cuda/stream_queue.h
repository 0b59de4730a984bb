// A stream of a GPU as the launches see it.
#ifndef PARTITA_OPS_CUDA_STREAM_QUEUE_H_
#define PARTITA_OPS_CUDA_STREAM_QUEUE_H_

#include "absl/status/status.h"
#include "ops/cuda/launch/launch.h"
#include "runtime/device/cuda/cuda_stream.h"

namespace partita {

// For the work of one node; `stream` must outlive it.
class StreamQueue : public LaunchQueue {
 public:
  explicit StreamQueue(CudaStream& stream) : stream_(stream) {}

  LaunchError Launch(const void* function, const LaunchShape& shape, void** arguments) override;
  LaunchError Copy(void* to, const void* from, int64_t bytes) override;
  LaunchError Zero(void* to, int64_t bytes) override;
  CUstream_st* BeginWork() override;

  // Why the first work was refused that was; OK: none was.
  const absl::Status& status() const { return status_; }

 private:
  LaunchError Keep(const absl::Status& status);

  CudaStream& stream_;
  absl::Status status_;
};

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_STREAM_QUEUE_H_
