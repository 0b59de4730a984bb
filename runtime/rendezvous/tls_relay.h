// Between gRPC, which knows TLS by certificates alone, and a connection whose two sides have a key: gRPC has one end of
// a pair of local sockets, a thread has the other end and the connection, and seals and opens what goes between them.
#ifndef PARTITA_RUNTIME_RENDEZVOUS_TLS_RELAY_H_
#define PARTITA_RUNTIME_RENDEZVOUS_TLS_RELAY_H_

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "runtime/admission/socket.h"
#include "runtime/admission/tls_session.h"

namespace partita {

class TlsRelay {
 public:
  // `socket`, `key`: of an authenticated connection. `take`: called once, on a thread of the relay, with the socket for
  // gRPC, after the TLS handshake; kUnavailable: no handshake before the deadline. Throws std::system_error if there is
  // no thread for it.
  TlsRelay(TlsSession::Side side, Socket socket, const std::string& key, Socket::Time deadline,
           std::function<void(absl::StatusOr<Socket>)> take);

  // Soon: gRPC has closed its end, and what it had written is sent, or gRPC finds it closed.
  ~TlsRelay();

  // Whether one of the two ends has gone, and the other one with it.
  bool ended() const { return ended_.load(); }

 private:
  void Run(TlsSession::Side side, const std::string& key, Socket::Time deadline,
           const std::function<void(absl::StatusOr<Socket>)>& take);
  void Carry(TlsSession& session, Socket local);

  Socket socket_;
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_RENDEZVOUS_TLS_RELAY_H_
