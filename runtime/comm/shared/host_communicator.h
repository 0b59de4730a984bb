// The common base of communicators whose collectives are tasks on a host stream: keeps the records that tasks point to,
// and writes each run to the flight recorder. Implemented by local and processes.
//
// AllReduce is reduce-scatter and all-gather over balanced blocks of the flat buffer; reductions run in ascending rank
// order at the owner of a block. So results are bitwise identical on all ranks and in both implementations.
#ifndef PARTITA_RUNTIME_COMM_SHARED_HOST_COMMUNICATOR_H_
#define PARTITA_RUNTIME_COMM_SHARED_HOST_COMMUNICATOR_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/comm/shared/checked_communicator.h"
#include "runtime/flight_recorder/flight_ring.h"

namespace partita {

class HostCommunicator : public CheckedCommunicator {
 public:
  // `ring`: where this rank's runs are recorded, as of `group`; it outlives the communicator.
  HostCommunicator(int rank, int size, int group, FlightRing& ring)
      : CheckedCommunicator(rank, size), group_(group), ring_(ring) {}

 protected:
  // When it is filled in and before it is enqueued: all that a run should not have to allocate.
  virtual absl::Status Prepare(CommCall&) { return absl::OkStatus(); }

  // On the stream's thread: does it, and sets sequence, wire and waited (which are 0). When it returns, also with an
  // error, no peer touches the call's buffers any more.
  virtual absl::Status Run(CommCall& call) = 0;

  absl::Status CheckStream(CollectiveKind kind, const Stream& stream) const override;
  absl::Status EnqueueCall(std::unique_ptr<CommCall> call, Stream& stream) override;

 private:
  static absl::Status RunCall(void* call);

  const int group_;
  FlightRing& ring_;
  std::atomic<int64_t> runs_{0};
  std::vector<std::unique_ptr<CommCall>> captured_;  // the arguments of tasks that may be replayed at any time
  std::vector<std::unique_ptr<CommCall>> once_;      // of the others, until they have run
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_SHARED_HOST_COMMUNICATOR_H_
