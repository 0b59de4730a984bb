// A TCP socket, and what is asked of one before it carries anything.
#ifndef PARTITA_RUNTIME_ADMISSION_SOCKET_H_
#define PARTITA_RUNTIME_ADMISSION_SOCKET_H_

#include <chrono>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace partita {

// Owns a descriptor; closed with it.
class Socket {
 public:
  using Time = std::chrono::steady_clock::time_point;

  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Socket();

  int descriptor() const { return descriptor_; }
  bool valid() const { return descriptor_ >= 0; }

  // Whole or not at all; a socket that does not block. kUnavailable: it ended, or the time is over.
  absl::Status Write(const std::string& bytes, Time deadline);
  absl::StatusOr<std::string> Read(size_t bytes, Time deadline);

  // For the rest of its life it blocks, and sends at once.
  absl::Status MakeStream();

  // Whose it is from now on.
  int Release() { return std::exchange(descriptor_, -1); }

 private:
  absl::Status Wait(short events, Time deadline) const;

  int descriptor_ = -1;
};

// Wakes a thread that polls its descriptor. Thread-safe.
class WakeEvent {
 public:
  // kResourceExhausted: the process has no descriptor left.
  static absl::StatusOr<WakeEvent> Create();

  void Set() const;    // readable until Clear
  void Clear() const;  // by the thread that polls

  int descriptor() const { return socket_.descriptor(); }

 private:
  explicit WakeEvent(Socket socket) : socket_(std::move(socket)) {}
  Socket socket_;
};

// Where a rank listens: a numeric address, of IPv4 or IPv6, and a port.
struct Endpoint {
  std::string address;
  int port = 0;
};
std::string ToText(const Endpoint& endpoint);
absl::StatusOr<Endpoint> EndpointOf(const std::string& text);

// For messages: "127.0.0.1:29500", "[::1]:29500".
std::string HostAndPort(const Endpoint& endpoint);

// Listens on endpoint.port, or on a free port if that is 0; sets endpoint.port. Neither the listener nor what
// AcceptFrom returns blocks. kAlreadyExists: a listener or a connection has the port that was given. kInvalidArgument:
// this machine does not have the address, or the port is for privileged users.
absl::StatusOr<Socket> ListenAt(Endpoint& endpoint);

// Reserves a free port for a process that is yet to listen there: while the socket is open the kernel assigns the port
// to no process that asks for any free one, and ListenAt(endpoint) succeeds in every process. Sets endpoint.port.
absl::StatusOr<Socket> ReservePort(Endpoint& endpoint);

// Does not block either. kUnavailable: no process listens there, or the time is over.
absl::StatusOr<Socket> ConnectTo(const Endpoint& endpoint, Socket::Time deadline);

// The next one that has come; not valid: none has.
Socket AcceptFrom(const Socket& listener);

}  // namespace partita

#endif  // PARTITA_RUNTIME_ADMISSION_SOCKET_H_
