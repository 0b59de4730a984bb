// Arenas of other ranks on this host (runtime/device/host/shared_arena.h), mapped to be read by those of a
// communicator.
#ifndef PARTITA_RUNTIME_COMM_PROCESSES_PEER_ARENAS_H_
#define PARTITA_RUNTIME_COMM_PROCESSES_PEER_ARENAS_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <utility>

#include "runtime/device/host/shared_arena.h"

namespace partita {

// Thread-compatible: collectives of a communicator run one after the other. A mapping stays valid for the lifetime of
// this object, even after its owner freed the arena.
class PeerArenas {
 public:
  PeerArenas() = default;
  PeerArenas(const PeerArenas&) = delete;
  ~PeerArenas();

  // `bytes` that a process has at `place`. Null: there is no such arena, or not so much of it.
  const char* Find(pid_t process, const SharedPlace& place, int64_t bytes);

 private:
  struct Mapping {
    void* data = nullptr;  // null: it could not be mapped
    int64_t bytes = 0;
  };

  static Mapping Map(pid_t process, int64_t descriptor);

  std::map<std::pair<pid_t, int64_t>, Mapping> mappings_;  // by process and arena
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_PROCESSES_PEER_ARENAS_H_
