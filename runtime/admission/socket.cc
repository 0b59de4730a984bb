#include "runtime/admission/socket.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

#include "runtime/base/exhaustion.h"
#include "runtime/base/number.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// The kernel keeps so many that nobody has taken yet.
constexpr int kBacklog = 1024;

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

absl::StatusOr<Addresses> Resolve(const Endpoint& endpoint) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(endpoint.address.c_str(), std::to_string(endpoint.port).c_str(), &hints, &found);
  if (error != 0) return Unavailable("'{}' is not a numeric address: {}", endpoint.address, gai_strerror(error));
  return Addresses(found, &freeaddrinfo);
}

absl::Status SystemError(const char* what) {
  const int error = errno;
  return LacksDescriptors(error) ? NoDescriptors(what) : Unavailable("{}: {}", what, std::strerror(error));
}

Socket NewSocket(const addrinfo& address) {
  return Socket(socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

int PortOf(const sockaddr_storage& address) {
  const bool v6 = address.ss_family == AF_INET6;
  return ntohs(v6 ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                  : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

}  // namespace

Socket::~Socket() {
  if (valid()) close(descriptor_);
}

absl::Status Socket::Wait(short events, Time deadline) const {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return Unavailable("no answer in time");
    pollfd descriptor{descriptor_, events, 0};
    const int found = poll(&descriptor, 1, static_cast<int>(std::min<int64_t>(left.count(), 1000)));
    if (found > 0) return absl::OkStatus();
    if (found < 0 && errno != EINTR) return SystemError("poll");
  }
}

absl::Status Socket::Write(const std::string& bytes, Time deadline) {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t count = send(descriptor_, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (count > 0) {
      done += static_cast<size_t>(count);
    } else if (errno == EAGAIN) {
      RETURN_IF_ERROR(Wait(POLLOUT, deadline));
    } else if (errno != EINTR) {
      return SystemError("the connection ended");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> Socket::Read(size_t bytes, Time deadline) {
  std::string all(bytes, '\0');
  for (size_t done = 0; done < bytes;) {
    const ssize_t count = recv(descriptor_, all.data() + done, bytes - done, 0);
    if (count > 0) {
      done += static_cast<size_t>(count);
    } else if (count == 0) {
      return Unavailable("the connection was closed");
    } else if (errno == EAGAIN) {
      RETURN_IF_ERROR(Wait(POLLIN, deadline));
    } else if (errno != EINTR) {
      return SystemError("the connection ended");
    }
  }
  return all;
}

absl::Status Socket::MakeStream() {
  const int flags = fcntl(descriptor_, F_GETFL);
  const int on = 1;
  if (flags < 0 || fcntl(descriptor_, F_SETFL, flags & ~O_NONBLOCK) != 0) return SystemError("fcntl");
  if (setsockopt(descriptor_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0) return SystemError("TCP_NODELAY");
  return absl::OkStatus();
}

absl::StatusOr<WakeEvent> WakeEvent::Create() {
  Socket event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event.valid()) return NoDescriptors("eventfd");
  return WakeEvent(std::move(event));
}

// Fails only where the event is set as often as it can be.
void WakeEvent::Set() const { eventfd_write(descriptor(), 1); }

void WakeEvent::Clear() const {
  eventfd_t times = 0;
  eventfd_read(descriptor(), &times);
}

std::string ToText(const Endpoint& endpoint) { return fmt::format("{} {}", endpoint.port, endpoint.address); }

std::string HostAndPort(const Endpoint& endpoint) {
  const bool v6 = endpoint.address.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", v6 ? "[" : "", endpoint.address, v6 ? "]" : "", endpoint.port);
}

absl::StatusOr<Endpoint> EndpointOf(const std::string& text) {
  const size_t space = text.find(' ');
  const std::optional<int> port = NumberOf<int>(std::string_view(text).substr(0, space));
  if (!port || space == std::string::npos) return Unavailable("'{}' is no endpoint", text);
  return Endpoint{text.substr(space + 1), *port};
}

absl::StatusOr<Socket> ReservePort(Endpoint& endpoint) {
  ASSIGN_OR_RETURN(const Addresses addresses, Resolve(endpoint));
  Socket socket = NewSocket(*addresses);
  if (!socket.valid()) return SystemError("socket");
  // The port may still have connections of a job that has ended, and be reserved by a socket that does not listen.
  const int on = 1;
  setsockopt(socket.descriptor(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(socket.descriptor(), addresses->ai_addr, addresses->ai_addrlen) != 0) {
    if (errno == EADDRNOTAVAIL) return InvalidArgument("{} is no address of this machine", endpoint.address);
    if (errno == EACCES) return InvalidArgument("port {} is for privileged users only", endpoint.port);
    if (errno == EADDRINUSE && endpoint.port != 0) {
      return absl::AlreadyExistsError(fmt::format("bind: {}", std::strerror(EADDRINUSE)));
    }
    return SystemError("bind");
  }
  sockaddr_storage bound{};
  socklen_t size = sizeof(bound);
  if (getsockname(socket.descriptor(), reinterpret_cast<sockaddr*>(&bound), &size) != 0) {
    return SystemError("getsockname");
  }
  endpoint.port = PortOf(bound);
  return socket;
}

absl::StatusOr<Socket> ListenAt(Endpoint& endpoint) {
  ASSIGN_OR_RETURN(Socket listener, ReservePort(endpoint));
  if (listen(listener.descriptor(), kBacklog) != 0) return SystemError("listen");
  return listener;
}

absl::StatusOr<Socket> ConnectTo(const Endpoint& endpoint, Socket::Time deadline) {
  ASSIGN_OR_RETURN(const Addresses addresses, Resolve(endpoint));
  Socket socket = NewSocket(*addresses);
  if (!socket.valid()) return SystemError("socket");
  if (connect(socket.descriptor(), addresses->ai_addr, addresses->ai_addrlen) == 0) return socket;
  if (errno != EINPROGRESS && errno != EINTR) return SystemError("connect");
  pollfd descriptor{socket.descriptor(), POLLOUT, 0};
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return Unavailable("nobody answers at {} port {}", endpoint.address, endpoint.port);
    if (poll(&descriptor, 1, static_cast<int>(std::min<int64_t>(left.count(), 1000))) > 0) break;
  }
  int error = 0;
  socklen_t size = sizeof(error);
  getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return Unavailable("connect: {}", std::strerror(error));
  return socket;
}

Socket AcceptFrom(const Socket& listener) {
  return Socket(accept4(listener.descriptor(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

}  // namespace partita
