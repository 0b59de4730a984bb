#include "ops/cuda/stream_queue.h"

namespace partita {

LaunchError StreamQueue::Keep(const absl::Status& status) {
  if (status.ok()) return LaunchError::kNone;
  if (status_.ok()) status_ = status;
  return LaunchError::kQueue;
}

LaunchError StreamQueue::Launch(const void* function, const LaunchShape& shape, void** arguments) {
  const dim3 grid(static_cast<unsigned>(shape.blocks));
  const dim3 block(static_cast<unsigned>(shape.lanes), static_cast<unsigned>(shape.depth));
  return Keep(stream_.Launch(function, grid, block, arguments));
}

LaunchError StreamQueue::Copy(void* to, const void* from, int64_t bytes) { return Keep(stream_.Copy(to, from, bytes)); }

LaunchError StreamQueue::Zero(void* to, int64_t bytes) { return Keep(stream_.Zero(to, bytes)); }

CUstream_st* StreamQueue::BeginWork() {
  const absl::StatusOr<cudaStream_t> stream = stream_.BeginWork();
  return Keep(stream.status()) == LaunchError::kNone ? *stream : nullptr;
}

}  // namespace partita
