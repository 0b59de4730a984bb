// Makes the communicators of the ranks that live in this process.
//
// Thread-safe. Communicators must not outlive their world. Implemented by local (ranks are threads), processes (one in
// each), cuda_local (ranks that share a GPU) and nccl (a GPU each).
#ifndef PARTITA_RUNTIME_COMM_WORLD_H_
#define PARTITA_RUNTIME_COMM_WORLD_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/comm/communicator.h"

namespace partita {

class FlightRecorder;

class World {
 public:
  virtual ~World() = default;

  // The communicator of world rank `rank`, which lives here, in the group `group_id`, whose members are the world ranks
  // `ranks`, in group order. All members call it, in any order and at any time. It must outlive the steps captured with
  // it and may be destroyed only when its streams have passed its operations. kInvalidArgument: ranks that do not exist
  // or appear twice, or that differ from another member's for this id; `rank` is not among them, or already has a
  // communicator.
  virtual absl::StatusOr<std::unique_ptr<Communicator>> CreateCommunicator(int group_id, std::vector<int> ranks,
                                                                           int rank) = 0;

  // Whether its communicators implement AllToAllBlocks: if ranks can access each other's memory, no packing is needed.
  virtual bool moves_blocks() const { return false; }

  // The record of its ranks' collectives, written while they run or, on a GPU, sampled from time to time and at this
  // call; null: it records nothing, for instance if ranks share a GPU and one thread enqueues for all. Valid for the
  // lifetime of the world.
  virtual const FlightRecorder* recorder() const { return nullptr; }

  // Makes every current and later collective in every group of this world return `status` (not OK) instead of hanging.
  // The first abort counts and is final. A mismatch between ranks aborts by itself.
  virtual void Abort(const absl::Status& status) = 0;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_WORLD_H_
