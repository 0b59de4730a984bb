// A connection between each two ranks of a world, TCP, as it is or by TLS, or, on one host, shared memory, over which
// they give each other blocks and messages.
//
// All connections are made at once: every rank listens at one port until all ranks above it have connected and proved
// that they know the job's token (door.h, handshake.h). After that the port is closed. frame.h and slots.h describe the
// protocol.
#ifndef PARTITA_RUNTIME_COMM_TRANSPORT_PEER_MESH_H_
#define PARTITA_RUNTIME_COMM_TRANSPORT_PEER_MESH_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/admission/door.h"
#include "runtime/comm/key_value_store.h"
#include "runtime/comm/peer_channel.h"
#include "runtime/comm/transport/passage.h"
#include "runtime/comm/transport/peer_link.h"

namespace partita {

struct PeerMeshOptions {
  std::string address = "127.0.0.1";                             // numeric, of the interface to listen on
  std::string token;                                             // of the job
  std::chrono::milliseconds timeout = std::chrono::seconds(30);  // to connect
  Door::Limits door;
  bool shared_memory = true;  // with ranks on this host whose option says so too
  bool tls = false;           // with all others; the same for all ranks
};

// Thread-safe.
class PeerMesh {
 public:
  // Meets the other ranks of 0..size-1 through `store`. kUnavailable: a rank did not come in time; kInvalidArgument: it
  // has another token, or does not agree on TLS. It is named.
  static absl::StatusOr<std::unique_ptr<PeerMesh>> Connect(int rank, int size, KeyValueStore& store,
                                                           const PeerMeshOptions& options);
  // The same over what the embedding program has connected.
  static std::unique_ptr<PeerMesh> Over(std::shared_ptr<const PeerChannel> channel);
  ~PeerMesh();

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(links_.size()); }

  // Once, before anything else. Of each other rank: what is heard of it, on a thread of its own (PeerEvents).
  void Start(const std::function<PeerEvents(int rank)>& events);

  // Start, and return soon; the passage says when it has ended. A slot names one block between two ranks.
  void Send(Passage& passage, uint64_t slot) { links_[passage.rank()]->Send(passage, slot); }
  void Receive(Passage& passage, uint64_t slot) { links_[passage.rank()]->Receive(passage, slot); }

  // Never blocks; before any block that has not begun. At most kMostMessageBytes.
  void Say(int rank, std::span<const char> message) { links_[rank]->Say(message); }
  void SayToAll(std::span<const char> message);

  // Waits until what was said is on its way.
  void Flush(std::chrono::milliseconds timeout);

  // Ends all connections at once. When it returns, no thread touches a passage's memory any more, and all passages have
  // ended. May be called from callbacks about a rank.
  void Close();

 private:
  explicit PeerMesh(int rank) : rank_(rank) {}
  absl::Status ConnectAll(int size, KeyValueStore& store, const PeerMeshOptions& options);

  const int rank_;
  std::vector<std::unique_ptr<PeerLink>> links_;  // by rank; null: this one
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_TRANSPORT_PEER_MESH_H_
