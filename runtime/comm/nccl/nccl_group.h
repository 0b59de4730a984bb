// One communicator of NCCL: its handle, and how far the GPU is with its collectives.
#ifndef PARTITA_RUNTIME_COMM_NCCL_NCCL_GROUP_H_
#define PARTITA_RUNTIME_COMM_NCCL_NCCL_GROUP_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "runtime/comm/nccl/collective_progress.h"
#include "runtime/comm/nccl/nccl_api.h"
#include "runtime/comm/shared/comm_call.h"
#include "runtime/device/cuda/cuda_device.h"
#include "runtime/device/cuda/cuda_stream.h"
#include "runtime/flight_recorder/flight_ring.h"

namespace partita {

struct NcclGroupOptions {
  const NcclApi* api = nullptr;
  CudaDevice* device = nullptr;  // outlives the group
  FlightRing* ring = nullptr;    // of the rank; the same
  int id = 0;                    // in the program
  std::vector<int> ranks;        // of the program, in group order
  int rank = 0;                  // place of this process in `ranks`
  ncclUniqueId unique = {};
  std::chrono::milliseconds join_within{0};  // how long NCCL may take to find the others
};

// NCCL's calls on the group never block: one that takes long is asked for again and again, so a peer that does not come
// ends the wait at its deadline, and Abort ends it at once. Join and Enqueue are called by the thread of the rank; the
// rest is thread-safe.
class NcclGroup {
 public:
  static absl::StatusOr<std::unique_ptr<NcclGroup>> Create(NcclGroupOptions options);
  ~NcclGroup();

  // Waits until all ranks of the group have come; before the first Enqueue. kUnavailable: they have not come in time,
  // or the group was aborted; names it and its ranks.
  absl::Status Join();

  int id() const { return options_.id; }

  // One collective, or with uneven counts several of NCCL's in one of its groups.
  absl::Status Enqueue(const CommCall& call, CudaStream& stream);

  // An error that NCCL met in the background, with the collective that was running. OK after an abort.
  absl::Status PollError();

  // Gives the communicator back: when this returns, NCCL no longer works on it in the background, where it closes
  // mappings of the group's buffers and synchronises streams. So buffers and streams may be freed after it, and not
  // before. All members call it, with their groups in one order; no captured graph holds the communicator any more.
  // After GiveUp it does nothing.
  void End();

  // The group will be aborted: End need not wait for members that may be gone.
  void GiveUp() { given_up_ = true; }

  CollectiveProgress& progress() const { return *progress_; }

  // Ends what runs and begins to give the communicator back; the group cannot be used any more. Only inside of a group
  // of NCCL's (ncclGroupStart), whose end waits until no captured graph holds the communicators of all that were
  // aborted in it.
  void Abort();

 private:
  explicit NcclGroup(NcclGroupOptions options)
      : options_(std::move(options)), api_(options_.api), rank_(options_.rank), size_(Size()) {}
  int Size() const { return static_cast<int>(options_.ranks.size()); }
  absl::Status Check(ncclResult_t result, const char* call, const std::string& what) const;
  absl::Status Settle(std::unique_lock<std::mutex>& lock, const std::string& what);
  absl::Status EnqueueWork(const CommCall& call, CudaStream& stream);
  absl::Status Whole(const CommCall& call, cudaStream_t stream);
  absl::Status Blocks(const CommCall& call, cudaStream_t stream);
  absl::Status Grouped(const CommCall& call, cudaStream_t stream);
  absl::Status CopyOwn(const CommCall& call, CudaStream& stream);

  const NcclGroupOptions options_;
  const NcclApi* const api_;
  const int rank_, size_;
  mutable std::mutex mutex_;
  bool aborted_ = false;
  std::atomic<bool> given_up_{false};
  ncclComm_t comm_ = nullptr;  // null: not joined yet, ended or aborted
  std::unique_ptr<CollectiveProgress> progress_;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_NCCL_NCCL_GROUP_H_
