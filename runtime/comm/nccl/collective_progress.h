// The progress of a GPU through the collectives of a group, read by the host without waiting for the GPU.
//
// Which collectives there are, and in which order, is known when they are launched. A kernel of one thread counts up in
// front of each and behind each, in memory of the GPU, and stores the count to pinned memory of the host. In a captured
// step nothing waits for the count behind a collective, and where another collective follows on the stream, of
// whichever group, with no wait between them, one launch counts the end of the first and the beginning of the second.
// What has happened since the last look is written to the flight recorder, with the time of the look.
#ifndef PARTITA_RUNTIME_COMM_NCCL_COLLECTIVE_PROGRESS_H_
#define PARTITA_RUNTIME_COMM_NCCL_COLLECTIVE_PROGRESS_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/comm/shared/comm_call.h"
#include "runtime/device/cuda/cuda_device.h"
#include "runtime/device/cuda/cuda_stream.h"
#include "runtime/flight_recorder/flight_ring.h"

namespace partita {

// Begin and End are called by the thread of the rank, which launches its steps as well; the rest is thread-safe.
class CollectiveProgress {
 public:
  // `ring`: of the rank; outlives this, as the device does.
  static absl::StatusOr<std::unique_ptr<CollectiveProgress>> Create(CudaDevice& device, int group, FlightRing& ring);

  // Around the work of a collective on its stream.
  absl::Status Begin(CudaStream& stream);
  absl::Status End(const CommCall& call, CudaStream& stream);

  // Collectives so far: by the host, by the GPU.
  int64_t launched() const { return launched_.load(std::memory_order_acquire); }
  int64_t ended() const { return Seen(kEnded); }

  // The one that runs, or the last one: "all_reduce of 7 f32 (sum), sequence number 12".
  std::string Current() const;

  // A look. Of much that has ended since the last one only the latest is written.
  void Record();

  // The last look: what has begun and not ended has failed.
  void Fail();

 private:
  enum Count { kBegun, kEnded, kCounts };

  struct Enqueued {
    std::string description;
    FlightRing::Operation flown;
  };
  using Recent = std::vector<std::atomic<const Enqueued*>>;

  CollectiveProgress(int group, FlightRing& ring) : group_(group), ring_(ring) {}
  void* At(const Arena& counts, Count count) const { return static_cast<unsigned long long*>(counts.data()) + count; }
  int64_t Seen(Count count) const;
  void Remember(const CommCall& call);
  const Enqueued* Find(int64_t sequence) const;
  uint64_t Write(int64_t sequence, FlownOperation::State state);
  void Look();

  const int group_;
  FlightRing& ring_;
  std::unique_ptr<Arena> counts_;  // unsigned long long of the GPU
  std::unique_ptr<Arena> seen_;    // the same, as the host sees them

  std::deque<Enqueued> enqueued_;  // never destroyed before the group
  std::atomic<int64_t> launched_{0};

  mutable std::mutex mutex_;
  Recent recent_{256};  // by sequence number: at least all of two steps; replaced with the lock held
  bool failed_ = false;
  // What is written.
  int64_t begun_ = 0;
  uint64_t open_ = 0;  // of the last that has begun, if it has not ended; 0: it has
  int64_t next_ = 0;   // the last that was launched and has not begun; 0: none
  uint64_t next_ticket_ = 0;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_NCCL_COLLECTIVE_PROGRESS_H_
