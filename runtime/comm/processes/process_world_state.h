// The state that the communicators of a process share: the mesh, the calls in progress, and the ranks that have failed.
//
// Each link has a thread that receives from its peer, so the end of a connection is noticed at once. One more thread
// probes peers that a call has waited long for.
#ifndef PARTITA_RUNTIME_COMM_PROCESSES_PROCESS_WORLD_STATE_H_
#define PARTITA_RUNTIME_COMM_PROCESSES_PROCESS_WORLD_STATE_H_

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "runtime/comm/processes/peer_memory.h"
#include "runtime/comm/processes/peer_message.h"
#include "runtime/comm/processes/process_group.h"
#include "runtime/comm/processes/process_world.h"
#include "runtime/comm/transport/peer_mesh.h"
#include "runtime/flight_recorder/flight_recorder.h"

namespace partita {

// Thread-safe.
class ProcessWorldState {
 public:
  ProcessWorldState(std::unique_ptr<PeerMesh> mesh, std::unique_ptr<PeerMemory> memory,
                    const ProcessWorldOptions& options);
  ~ProcessWorldState();

  PeerMesh& mesh() { return *mesh_; }
  const PeerMemory& memory() const { return *memory_; }
  const PeerChannel* channel() const { return options_.channel.get(); }
  FlightRecorder& recorder() { return recorder_; }

  // This rank's place in a group; kInvalidArgument: made already.
  absl::StatusOr<ProcessGroup*> Join(int id, std::vector<int> ranks, int rank);

  absl::Status Run(ProcessGroup& group, BlockCall& call);
  void Abort(const absl::Status& status);
  std::string InFlight() const;

 private:
  using Clock = std::chrono::steady_clock;
  using Lock = std::unique_lock<std::mutex>;

  // How things stand with a peer.
  struct Peer {
    bool asked = false;  // a probe is not answered
    Clock::time_point heard;
    std::atomic<bool> left = false;  // said good-bye
    bool ended = false;              // will say nothing more
  };

  PeerEvents EventsOf(int rank);
  bool Hear(int rank, std::span<const char> bytes);
  void HearProbe(int rank, const PeerMessage& probe);
  void EndDamaged(int rank, const std::string& flaw);
  void EndOfConnection(int rank, const std::string& flaw);
  void End(int rank);
  void AwaitLastWords();
  void EndProgramsCalls();

  void WatchCalls();
  absl::Status Examine(ProcessGroup& group, Clock::time_point now);
  void Ask(ProcessGroup& group, int position, Clock::time_point now);

  absl::Status Begin(ProcessGroup& group, BlockCall& call);
  absl::Status EndFailed(const absl::Status& status);
  std::string InFlightLocked() const;

  const ProcessWorldOptions options_;
  const std::unique_ptr<PeerMemory> memory_;
  FlightRecorder recorder_;
  std::vector<Peer> peers_;  // by rank
  std::thread watcher_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<int, std::unique_ptr<ProcessGroup>> groups_;
  absl::Status aborted_;
  bool closed_ = false;   // after an abort: nothing touches buffers any more
  bool leaving_ = false;  // the world is being destroyed

  const std::unique_ptr<PeerMesh> mesh_;  // goes first: its threads use the rest
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_PROCESSES_PROCESS_WORLD_STATE_H_
