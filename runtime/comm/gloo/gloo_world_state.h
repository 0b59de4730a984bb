// What the communicators of a process share: the mesh, the calls under way, and who has failed.
//
// For each peer a thread waits for its messages; so the end of a connection is noticed at once, whatever else goes on.
// One more thread asks peers that a call has waited long for.
#ifndef PARTITA_RUNTIME_COMM_GLOO_GLOO_WORLD_STATE_H_
#define PARTITA_RUNTIME_COMM_GLOO_GLOO_WORLD_STATE_H_

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "runtime/comm/gloo/gloo_group.h"
#include "runtime/comm/gloo/gloo_mesh.h"
#include "runtime/comm/gloo/gloo_message.h"
#include "runtime/comm/gloo/gloo_world.h"
#include "runtime/flight_recorder/flight_recorder.h"

namespace partita {

// Thread-safe.
class GlooWorldState {
 public:
  GlooWorldState(std::unique_ptr<GlooMesh> mesh, const GlooOptions& options);
  ~GlooWorldState();

  GlooMesh& mesh() { return *mesh_; }
  FlightRecorder& recorder() { return recorder_; }

  // This rank's place in a group; kInvalidArgument: made already.
  absl::StatusOr<GlooGroup*> Join(int id, std::vector<int> ranks, int rank);

  absl::Status Run(GlooGroup& group, GlooCall& call);
  void Abort(const absl::Status& status);
  std::string InFlight() const;

 private:
  using Clock = std::chrono::steady_clock;
  using Lock = std::unique_lock<std::mutex>;

  // How things stand with a peer.
  struct Peer {
    std::vector<GlooMessage> messages;  // being received
    std::vector<std::unique_ptr<GlooBuffer>> incoming;
    GlooMessage probe, answer, last;  // being sent
    std::unique_ptr<GlooBuffer> probe_buffer, answer_buffer, last_buffer;
    bool asked = false;  // a probe is not answered
    Clock::time_point heard;
    std::atomic<bool> left = false;  // said good-bye
    bool ended = false;              // will say nothing more
    std::thread listener;
  };

  void StartListening();
  void StopListening();
  void Listen(int rank);
  bool Handle(int rank, const GlooMessage& message);
  void HandleProbe(int rank, const GlooMessage& probe);
  void End(Peer& peer);
  void EndOfConnection(int rank);
  void SayLast(const GlooMessage& message);
  void AwaitLastWords();

  void WatchCalls();
  absl::Status Examine(GlooGroup& group, Clock::time_point now);
  void Ask(GlooGroup& group, int position, Clock::time_point now);

  absl::Status Begin(GlooGroup& group, GlooCall& call, std::vector<uint64_t>& runs_by_peer);
  absl::Status EndFailed(const absl::Status& status);
  std::string InFlightLocked() const;

  const std::unique_ptr<GlooMesh> mesh_;
  const GlooOptions options_;
  FlightRecorder recorder_;
  std::vector<std::unique_ptr<Peer>> peers_;  // by rank; null: this one
  std::thread watcher_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<int, std::unique_ptr<GlooGroup>> groups_;
  absl::Status aborted_;
  bool closed_ = false;   // after an abort: nothing touches buffers any more
  bool leaving_ = false;  // the world is being destroyed
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_GLOO_GLOO_WORLD_STATE_H_
