// Communicators among ranks that are processes, one rank in each, over connections of their own (TCP, or memory in
// common with ranks on the same host: transport/peer_mesh.h).
//
// Streams must be HostStreams. A collective blocks its stream's thread (never spins). A hash of the call and its size
// names each message: mismatched calls never match, and are found when one has waited for `probe_after`. Reductions are
// bitwise identical to those of `local`.
//
// A rank whose connection ends without a message, that does not answer for `timeout`, or whose bytes fail their
// checksum, ends the world of all others with kUnavailable. The error names the rank, and the group, operation and
// sequence number in progress. Only processes with the job's token are admitted; TCP traffic is encrypted if all ranks
// ask for it (`tls`).
#ifndef PARTITA_RUNTIME_COMM_PROCESSES_PROCESS_WORLD_H_
#define PARTITA_RUNTIME_COMM_PROCESSES_PROCESS_WORLD_H_

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/comm/key_value_store.h"
#include "runtime/comm/peer_channel.h"
#include "runtime/comm/shared/longest_wait.h"
#include "runtime/comm/world.h"

namespace partita {

class ProcessWorldState;

struct ProcessWorldOptions {
  std::string address = "127.0.0.1";  // numeric, of the interface to listen on
  std::string token;                  // of the job, the same for all
  bool shared_memory = true;          // with ranks on this host, where all say so
  bool tls = false;                   // between hosts; the same for all
  std::chrono::milliseconds connect_timeout = std::chrono::seconds(30);
  std::chrono::milliseconds timeout = std::chrono::seconds(10);  // of a rank that does not answer
  std::chrono::milliseconds probe_after = std::chrono::milliseconds(100);
  std::chrono::milliseconds longest_wait = kLongestWait;  // in a collective, also for a rank that answers
  // The embedding program's, null: none. If it has an all_reduce, sums are made by it (program_reduction.cc).
  std::shared_ptr<const PeerChannel> channel = nullptr;
};

class ProcessWorld : public World {
 public:
  // All ranks call it. kUnavailable: a rank did not come in time; kInvalidArgument: it has another token, or does not
  // agree on `tls`. It is named.
  static absl::StatusOr<std::unique_ptr<ProcessWorld>> Connect(int rank, int ranks, KeyValueStore& store,
                                                               const ProcessWorldOptions& options);
  // The same over `options.channel`: the options' address, token, memory and TLS are not used.
  static absl::StatusOr<std::unique_ptr<ProcessWorld>> Over(const ProcessWorldOptions& options);
  // Says good-bye; the others go on without this rank. Communicators must be gone.
  ~ProcessWorld() override;

  absl::StatusOr<std::unique_ptr<Communicator>> CreateCommunicator(int group_id, std::vector<int> ranks,
                                                                   int rank) override;
  const FlightRecorder* recorder() const override;
  // Notifies the other ranks, whose worlds end with the same status.
  void Abort(const absl::Status& status) override;

  // "; in flight: group 7: all_reduce of 20 f32 (sum), sequence number 2" for each collective under way; else empty.
  std::string InFlight() const;

 private:
  explicit ProcessWorld(std::unique_ptr<ProcessWorldState> state);
  std::unique_ptr<ProcessWorldState> state_;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_PROCESSES_PROCESS_WORLD_H_
