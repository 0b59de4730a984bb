// Memory that two processes of one user on one host have in common, for a ring each way.
//
// One creates it (memfd) and sends its location over an authenticated connection. The other opens it among the
// descriptors of the first (/proc), which the system allows only to the same user, and checks the nonce that it
// received. The memory has no name and disappears with both processes. Processes in two network namespaces do not share
// memory.
#ifndef PARTITA_RUNTIME_COMM_TRANSPORT_SHARED_MEMORY_H_
#define PARTITA_RUNTIME_COMM_TRANSPORT_SHARED_MEMORY_H_

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "runtime/admission/socket.h"
#include "runtime/comm/transport/shared_ring.h"

namespace partita {

class SharedMemory {
 public:
  explicit SharedMemory(void* mapping) : mapping_(mapping) {}
  ~SharedMemory();

  // To its creator, and from it.
  SharedRing& to_maker() const;
  SharedRing& from_maker() const;

 private:
  void* const mapping_;
};

// Both sides of a connection that has just been authenticated call one of them. Null: they have no memory in common, or
// one of them does not want it. kUnavailable: the connection ended, or the time is over.
absl::StatusOr<std::unique_ptr<SharedMemory>> OfferSharedMemory(Socket& socket, bool wanted, Socket::Time deadline);
absl::StatusOr<std::unique_ptr<SharedMemory>> AcceptSharedMemory(Socket& socket, bool wanted, Socket::Time deadline);

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_TRANSPORT_SHARED_MEMORY_H_
