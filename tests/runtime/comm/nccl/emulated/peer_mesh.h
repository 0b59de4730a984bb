// Stream sockets between every two ranks of one communicator, all on this machine.
//
// Each rank listens on an abstract Unix socket that is named after the communicator's unique id, so nothing stays
// behind when a process dies. All failures are outcomes; Stop ends every call from another thread.
#ifndef PARTITA_TESTS_RUNTIME_COMM_NCCL_EMULATED_PEER_MESH_H_
#define PARTITA_TESTS_RUNTIME_COMM_NCCL_EMULATED_PEER_MESH_H_

#include <nccl.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace partita::emulated_nccl {

struct Outcome {
  ncclResult_t result = ncclSuccess;
  std::string text;

  bool ok() const { return result == ncclSuccess; }
};

// What a rank says about itself when it joins.
struct Hello {
  int32_t rank = 0, size = 0;
  int32_t device = 0, version = 0;
  uint64_t host = 0;  // hash of the host's name
};

// One thread at a time calls Join and Exchange; Stop is thread-safe.
class PeerMesh {
 public:
  struct Outgoing {
    int peer = 0;
    const void* from = nullptr;
    size_t bytes = 0;
  };
  struct Incoming {
    int peer = 0;
    void* to = nullptr;
    size_t bytes = 0;
    std::function<Outcome()> arrived;  // called when all bytes are there; a failure ends the exchange
  };

  PeerMesh(std::string name, int rank, int size);
  ~PeerMesh();
  PeerMesh(const PeerMesh&) = delete;

  // Connects to all peers and returns when all of them have come. `all`: every rank's words, by rank.
  Outcome Join(const Hello& own, std::vector<Hello>& all);

  // Moves everything. Messages between the same two ranks keep their order; different peers make progress
  // independently, so two ranks that send to each other never deadlock.
  Outcome Exchange(const std::vector<Outgoing>& sends, const std::vector<Incoming>& receives);

  void Stop();

 private:
  Outcome Listen();
  Outcome Connect(int peer);
  Outcome Fits(const Hello& peer) const;
  Outcome Accept(const Hello& own, std::vector<Hello>& all);
  Outcome Await(int descriptor, short events, int milliseconds);
  Outcome Move(int socket, const Hello* sent, Hello* received);

  const std::string name_;
  const int rank_, size_;
  std::atomic<bool> stopped_{false};
  int stop_ = -1;             // an eventfd that wakes poll()
  int listener_ = -1;         // until all have come
  std::vector<int> sockets_;  // by rank; -1: none
};

}  // namespace partita::emulated_nccl

#endif  // PARTITA_TESTS_RUNTIME_COMM_NCCL_EMULATED_PEER_MESH_H_
