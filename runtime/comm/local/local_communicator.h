// Communicators among ranks that are threads of one process: peers read and write each other's memory.
//
// Streams must be HostStreams. A collective blocks its stream's thread (never spins) and passes only when no peer
// touches its buffers any more. AllReduce is reduce-scatter and all-gather over balanced blocks of the flat buffer;
// reductions run in ascending rank order at the owner of a block, so all ranks get the same bits.
#ifndef PARTITA_RUNTIME_COMM_LOCAL_LOCAL_COMMUNICATOR_H_
#define PARTITA_RUNTIME_COMM_LOCAL_LOCAL_COMMUNICATOR_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/comm/communicator.h"

namespace partita {

struct LocalWorldState;

// What the ranks of a process share. Thread-safe. Communicators may outlive it.
class LocalWorld {
 public:
  // kInvalidArgument: less than one rank.
  static absl::StatusOr<std::unique_ptr<LocalWorld>> Create(int ranks);
  ~LocalWorld();

  // The communicator of world rank `rank` in the group `group_id`, whose members are the world ranks `ranks`, in group
  // order. The members may come in any order and at any time. It must outlive the steps captured with it and
  // may be destroyed only when its streams have passed its operations.
  // kInvalidArgument: ranks that do not exist, are named twice or differ from those that another member gave for
  // this id; `rank` not among them, or already created.
  absl::StatusOr<std::unique_ptr<Communicator>> CreateCommunicator(int group_id, std::vector<int> ranks, int rank);

  // Every collective that waits now or is started later, in every group of this world, returns `status` (not OK)
  // instead of hanging. The first abort counts; there is no way back. A mismatch between ranks aborts by itself.
  void Abort(absl::Status status);

 private:
  explicit LocalWorld(std::shared_ptr<LocalWorldState> state);
  std::shared_ptr<LocalWorldState> state_;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_LOCAL_LOCAL_COMMUNICATOR_H_
