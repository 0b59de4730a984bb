// One communicator of NCCL: its handle, how many of its collectives were started, and how many the GPU has finished.
#ifndef PARTITA_RUNTIME_COMM_NCCL_NCCL_GROUP_H_
#define PARTITA_RUNTIME_COMM_NCCL_NCCL_GROUP_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/comm/host/host_call.h"
#include "runtime/comm/nccl/nccl_api.h"
#include "runtime/device/cuda/cuda_device.h"
#include "runtime/device/cuda/cuda_stream.h"

namespace partita {

// Enqueue and Close are called by the thread of the rank; the rest is thread-safe.
class NcclGroup {
 public:
  // Blocks until all ranks of the group have come. `rank`: in the group. `device` outlives the group.
  static absl::StatusOr<std::unique_ptr<NcclGroup>> Create(const NcclApi* api, CudaDevice* device, int id, int rank,
                                                           int size, const ncclUniqueId& unique);
  ~NcclGroup();

  int id() const { return id_; }

  // One collective, or with uneven counts several of NCCL's in one of its groups.
  absl::Status Enqueue(const HostCall& call, CudaStream& stream);

  // An error that NCCL met in the background, with the collective that was running. OK after an abort.
  absl::Status PollError();

  // Collectives started and finished so far; the one that runs, or the last one: "all_reduce of 7 f32 (sum), sequence
  // number 12".
  int64_t started() const { return started_.load(); }
  int64_t finished() const;
  std::string Current() const;

  // Ends what runs; the group cannot be used any more.
  void Abort();

 private:
  static constexpr int kRemembered = 256;  // names of the latest collectives

  NcclGroup(const NcclApi* api, int id, int rank, int size) : api_(api), id_(id), rank_(rank), size_(size) {}
  absl::Status Check(ncclResult_t result, const char* call, const std::string& what) const;
  absl::Status EnqueueWork(const HostCall& call, CudaStream& stream);
  absl::Status Whole(const HostCall& call, cudaStream_t stream);
  absl::Status Blocks(const HostCall& call, cudaStream_t stream);
  absl::Status Grouped(const HostCall& call, cudaStream_t stream);
  absl::Status CopyOwn(const HostCall& call, CudaStream& stream);

  const NcclApi* const api_;
  const int id_, rank_, size_;
  mutable std::mutex mutex_;
  ncclComm_t comm_ = nullptr;        // null: aborted
  std::unique_ptr<Arena> progress_;  // one unsigned long long, written by the GPU
  std::deque<std::string> names_;    // of the collectives enqueued, for as long as the group lives
  std::atomic<int64_t> started_{0};
  std::array<std::atomic<const std::string*>, kRemembered> recent_{};  // by sequence number
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_NCCL_NCCL_GROUP_H_
