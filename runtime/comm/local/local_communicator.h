// Communicators among ranks that are threads of one process: peers read and write each other's memory.
//
// Streams must be HostStreams. A collective blocks its stream's thread (which first spins only if configured) and
// returns only when no peer touches its buffers any more. AllReduce is reduce-scatter and all-gather over balanced
// blocks of the flat buffer; reductions run in ascending rank order at the owner of a block, so the results are bitwise
// identical on all ranks.
#ifndef PARTITA_RUNTIME_COMM_LOCAL_LOCAL_COMMUNICATOR_H_
#define PARTITA_RUNTIME_COMM_LOCAL_LOCAL_COMMUNICATOR_H_

#include <chrono>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/comm/shared/longest_wait.h"
#include "runtime/comm/world.h"

namespace partita {

struct LocalWorldState;

struct LocalWorldOptions {
  // A collective in which a rank waits longer for its peers ends with kUnavailable.
  std::chrono::milliseconds longest_wait = kLongestWait;
  // How long a waiting rank spins before blocking. Only for ranks that have all their threads' cores for themselves;
  // others would keep the core from the peer that they wait for.
  std::chrono::microseconds spin{0};
};

// What the ranks of a process share. Thread-safe. Communicators may outlive it.
class LocalWorld : public World {
 public:
  // kInvalidArgument: less than one rank.
  static absl::StatusOr<std::unique_ptr<LocalWorld>> Create(int ranks, const LocalWorldOptions& options = {});
  ~LocalWorld() override;

  absl::StatusOr<std::unique_ptr<Communicator>> CreateCommunicator(int group_id, std::vector<int> ranks,
                                                                   int rank) override;

  bool moves_blocks() const override { return true; }
  const FlightRecorder* recorder() const override;
  void Abort(const absl::Status& status) override;

 private:
  explicit LocalWorld(std::shared_ptr<LocalWorldState> state);
  std::shared_ptr<LocalWorldState> state_;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_LOCAL_LOCAL_COMMUNICATOR_H_
