// How the ranks of a job reach each other where the program that embeds Partita does it, e.g. by MPI.
#ifndef PARTITA_RUNTIME_COMM_PEER_CHANNEL_H_
#define PARTITA_RUNTIME_COMM_PEER_CHANNEL_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "graph/value/dtype.h"
#include "graph/value/reduction.h"
#include "runtime/comm/key_value_store.h"

namespace partita {

// out[i] = the reduction of the members' in[i], bitwise identical on all of them.
struct PeerReduction {
  int group = 0;               // the same on all members; differs between the groups of a world
  std::span<const int> ranks;  // the members, in group order
  Reduction reduction = Reduction::kSum;
  DType dtype = DType::kF32;
  int64_t count = 0;
  const void* in = nullptr;
  void* out = nullptr;  // may be `in`
};

// For each other rank, one thread sends while another one receives. What a rank sends arrives in order, and each
// receive asks for exactly the bytes of one send.
struct PeerChannel {
  int rank = 0;   // of this process
  int ranks = 1;  // of the job, one in each process
  // Both block until all bytes were taken over or filled in. False: the other rank is gone, or was closed.
  std::function<bool(int to, const void* data, size_t bytes)> send;
  std::function<bool(int from, void* data, size_t bytes)> receive;
  // Ends both directions with a rank, so that waiting calls return false. Any thread, several times.
  std::function<void(int rank)> close;

  // Optional. False: it failed, or a member was closed. One call of a group at a time; several groups at once.
  std::function<bool(const PeerReduction&)> all_reduce = nullptr;
  // Optional: waits until all ranks have called it. Used once, before anything is sent.
  std::function<bool()> barrier = nullptr;
  // Where the ranks find each other if there is no `send` and `receive`: they connect by themselves.
  std::shared_ptr<KeyValueStore> store = nullptr;
  std::string address = "127.0.0.1";  // with the store: numeric, of this process's interface

  bool carries() const { return send != nullptr; }
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_PEER_CHANNEL_H_
