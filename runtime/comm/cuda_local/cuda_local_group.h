// Matches the calls of a group's ranks on a shared GPU, and enqueues the work of each rank's stream.
#ifndef PARTITA_RUNTIME_COMM_CUDA_LOCAL_CUDA_LOCAL_GROUP_H_
#define PARTITA_RUNTIME_COMM_CUDA_LOCAL_CUDA_LOCAL_GROUP_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "runtime/comm/shared/comm_call.h"
#include "runtime/device/cuda/cuda_device.h"
#include "runtime/device/cuda/cuda_stream.h"

namespace partita {

// Thread-compatible.
class CudaLocalGroup {
 public:
  // `count` is called each time a call runs.
  using Count = std::function<void(const CommCall&)>;

  static absl::StatusOr<std::unique_ptr<CudaLocalGroup>> Create(int id, std::vector<int> ranks, CudaDevice* device);

  const std::vector<int>& ranks() const { return ranks_; }

  // False if the rank has joined already.
  bool Join(int rank);

  // The rank's call on its stream. With the last one all are enqueued. kInternal: two calls do not fit together.
  absl::Status Post(std::shared_ptr<CommCall> call, CudaStream& stream, Count count);

 private:
  struct Posted {
    std::shared_ptr<CommCall> call;  // null: the rank has not called
    CudaStream* stream = nullptr;
    Count count;
    std::unique_ptr<CudaEvent> ready, done;
    bool joined = false;
    int64_t sequence = 0;  // calls so far
  };

  CudaLocalGroup(int id, std::vector<int> ranks) : id_(id), ranks_(std::move(ranks)), posted_(ranks_.size()) {}

  absl::Status CheckFit(const CommCall& call) const;
  absl::Status Enqueue();
  absl::Status Barrier(std::unique_ptr<CudaEvent> Posted::*event);
  absl::Status Work(int rank);
  absl::Status Reduce(int rank, ElementRange block, std::span<void* const> outs);
  absl::Status PullBlocks(int rank);
  absl::Status Copy(int rank, void* to, const void* from, int64_t bytes);

  const int id_;
  const std::vector<int> ranks_;  // world ranks, in group order
  std::vector<Posted> posted_;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_CUDA_LOCAL_CUDA_LOCAL_GROUP_H_
