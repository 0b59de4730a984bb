// Finds the other ranks on this host, so that each may map the others' arenas (peer_arenas.h).
//
// Two ranks find it out at the beginning: the same network, the same user, files of any size. Nothing is ever written
// into another process, and what a rank says of its own memory is not believed: what is not there cannot be mapped.
#ifndef PARTITA_RUNTIME_COMM_PROCESSES_PEER_MEMORY_H_
#define PARTITA_RUNTIME_COMM_PROCESSES_PEER_MEMORY_H_

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/comm/key_value_store.h"
#include "runtime/device/device.h"

namespace partita {

// Thread-safe once it is made.
class PeerMemory {
 public:
  // All ranks of a world call it. `wanted`: whether this one lets itself be read. kUnavailable: a rank does not come
  // within `timeout`.
  static absl::StatusOr<std::unique_ptr<PeerMemory>> Meet(int rank, int ranks, KeyValueStore& store, bool wanted,
                                                          std::chrono::milliseconds timeout);

  // Of ranks that do not read each other's memory.
  static std::unique_ptr<PeerMemory> None(int rank, int ranks);

  // Whether each of these ranks of the world can read each other one. All ranks of the world answer the same.
  bool Connects(std::span<const int> ranks) const;

  // Of a rank; 0: it cannot be read.
  pid_t process(int rank) const { return processes_[rank]; }

 private:
  PeerMemory(int rank, int ranks);
  std::string OwnWords(bool wanted) const;
  bool CanRead(int rank, const std::string& words);

  const int rank_;
  std::unique_ptr<Arena> proof_;        // random bytes; a peer that finds them here reads the right process
  std::vector<pid_t> processes_;        // by rank; 0: it cannot be read
  std::vector<std::string> who_reads_;  // by rank: a '1' for each rank that it can read
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_PROCESSES_PEER_MEMORY_H_
