// Communicators among ranks of one process that share a GPU (docs/design.md 5.6): device copies and reductions of our
// own.
//
// One thread enqueues for all ranks and captures them into one step. A collective is enqueued when the last of its
// ranks calls it; until then the streams of the ranks that have called are held. Each rank's stream waits until all
// ranks have come to the collective, copies or reduces what the rank gets, and goes on when all are through. Reductions
// run in ascending rank order at the owner of a block, so the bits are those of `local`.
#ifndef PARTITA_RUNTIME_COMM_CUDA_LOCAL_CUDA_LOCAL_WORLD_H_
#define PARTITA_RUNTIME_COMM_CUDA_LOCAL_CUDA_LOCAL_WORLD_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/comm/world.h"
#include "runtime/device/cuda/cuda_device.h"

namespace partita {

class CudaLocalGroup;

// Thread-compatible, but Abort may come from any thread. Communicators must not outlive it.
class CudaLocalWorld : public World {
 public:
  // `device` outlives the world. kInvalidArgument: see the next.
  static absl::StatusOr<std::unique_ptr<CudaLocalWorld>> Create(int ranks, CudaDevice* device);
  // kInvalidArgument: less than one rank, or more than 16. `device` is for the message.
  static absl::Status CheckRanks(int ranks, const std::string& device);
  ~CudaLocalWorld() override;

  absl::StatusOr<std::unique_ptr<Communicator>> CreateCommunicator(int group_id, std::vector<int> ranks,
                                                                   int rank) override;

  bool moves_blocks() const override { return true; }

  // Gives the GPU up (CudaContext::Kill).
  void Abort(const absl::Status& status) override;

 private:
  CudaLocalWorld(int ranks, CudaDevice* device);

  const int ranks_;
  CudaDevice* const device_;
  std::map<int, std::unique_ptr<CudaLocalGroup>> groups_;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_CUDA_LOCAL_CUDA_LOCAL_WORLD_H_
