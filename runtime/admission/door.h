// A port at which a process accepts connections from its job, and from no other process.
//
// An unauthenticated connection costs a descriptor and a few hundred bytes for at most Limits::handshake. At most
// Limits::strangers exist: one more evicts the oldest, preferring connections that have not named this world. An
// evicted rank connects again; it is admitted after two round trips, a stranger never is.
#ifndef PARTITA_RUNTIME_ADMISSION_DOOR_H_
#define PARTITA_RUNTIME_ADMISSION_DOOR_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "runtime/admission/handshake.h"
#include "runtime/admission/socket.h"

namespace partita {

// An authenticated rank.
struct Guest {
  int rank = 0;
  Socket socket;  // does not block; not valid: the peer disagrees on TLS and was sent DisagreementOnTls
  ConnectionSeeds seeds;
};

class Door {
 public:
  struct Limits {
    size_t strangers = 64;
    std::chrono::milliseconds handshake = std::chrono::seconds(2);
  };

  // At `endpoint`, whose port is set if it is 0. `on_guest` is called on a thread of the door. kAlreadyExists:
  // the port is taken. kInvalidArgument: the address is not of this host, or the port is for privileged users.
  static absl::StatusOr<std::unique_ptr<Door>> Open(Endpoint endpoint, Identity identity, Limits limits,
                                                    std::function<void(Guest)> on_guest);
  ~Door();  // refuses later connections

  const Endpoint& endpoint() const { return endpoint_; }

  // How many came and were sent away.
  int64_t refused() const { return refused_.load(); }

 private:
  // A connection that is not authenticated yet.
  struct Stranger {
    Stranger(Socket socket, const Identity& identity, Socket::Time deadline)
        : socket(std::move(socket)), admission(identity), deadline(deadline) {}
    Socket socket;
    Admission admission;
    Socket::Time deadline;
    std::string bytes;
    bool admitted = false;
  };

  Door(Endpoint endpoint, Identity identity, Limits limits, std::function<void(Guest)> on_guest, WakeEvent close)
      : identity_(std::move(identity)),
        limits_(limits),
        on_guest_(std::move(on_guest)),
        endpoint_(std::move(endpoint)),
        close_(std::move(close)) {}
  void Serve();
  bool WaitForSomebody();
  void LetComeIn();
  void SendAwayOne();
  bool Hear(Stranger& stranger);
  bool Answer(Stranger& stranger);

  const Identity identity_;
  const Limits limits_;
  const std::function<void(Guest)> on_guest_;
  Endpoint endpoint_;
  Socket listener_;
  const WakeEvent close_;
  std::list<Stranger> strangers_;  // the one that came first in front
  std::atomic<int64_t> refused_{0};
  std::thread server_;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_ADMISSION_DOOR_H_
