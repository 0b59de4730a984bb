#include "runtime/rendezvous/tls_relay.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "runtime/base/exhaustion.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

using Clock = std::chrono::steady_clock;

// What is read at a time, and about what waits to be written: messages of the rendezvous are short.
constexpr size_t kMostBytes = 64 << 10;

// For what is still on its way when one end has gone.
constexpr std::chrono::milliseconds kFarewell(250);

// What the system has of the socket's bytes. 0: nothing yet; -1: its end.
ssize_t ReadSome(const Socket& socket, std::span<char> to) {
  const ssize_t count = recv(socket.descriptor(), to.data(), to.size(), 0);
  if (count > 0) return count;
  return count < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

// As much of `bytes` as the system takes, which goes. False: nobody reads any more.
bool WriteSome(const Socket& socket, std::vector<char>& bytes) {
  if (bytes.empty()) return true;
  const ssize_t count = send(socket.descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  bytes.erase(bytes.begin(), bytes.begin() + count);
  return true;
}

// Appends what `came` says. False: it is not what the other side has sealed.
bool OpenAll(TlsSession& session, std::span<const char> came, std::vector<char>& opened) {
  session.Give(came);
  while (true) {
    const size_t had = opened.size();
    opened.resize(had + kMostBytes);
    const absl::StatusOr<size_t> count = session.Open(std::span(opened).subspan(had));
    opened.resize(had + count.value_or(0));
    if (!count.ok()) return false;
    if (*count == 0) return true;
  }
}

}  // namespace

TlsRelay::TlsRelay(TlsSession::Side side, Socket socket, const std::string& key, Socket::Time deadline,
                   std::function<void(absl::StatusOr<Socket>)> take)
    : socket_(std::move(socket)),
      thread_([this, side, key, deadline, take = std::move(take)] { Run(side, key, deadline, take); }) {}

TlsRelay::~TlsRelay() {
  shutdown(socket_.descriptor(), SHUT_RD);
  thread_.join();
}

void TlsRelay::Run(TlsSession::Side side, const std::string& key, Socket::Time deadline,
                   const std::function<void(absl::StatusOr<Socket>)>& take) {
  Socket for_grpc, local;
  std::unique_ptr<TlsSession> session;
  const absl::Status ready = OrExhausted("TLS", [&]() -> absl::Status {
    ASSIGN_OR_RETURN(session, TlsSession::Agree(side, key, socket_, deadline));
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) {
      return ResourceExhausted("a pair of sockets: {}", std::strerror(errno));
    }
    local = Socket(ends[0]);
    for_grpc = Socket(ends[1]);
    return absl::OkStatus();
  });
  if (ready.ok()) {
    take(std::move(for_grpc));
    const auto carry = [&] { return Carry(*session, std::move(local)), absl::OkStatus(); };
    OrExhausted("TLS", carry).IgnoreError();  // gRPC and the other side see that it has ended
  } else {
    take(ready);
  }
  shutdown(socket_.descriptor(), SHUT_RDWR);
  ended_ = true;
}

void TlsRelay::Carry(TlsSession& session, Socket local) {
  std::array<char, kMostBytes> buffer;
  std::vector<char> out, in;  // read, and not written yet
  bool grpc_left = false, peer_left = false;
  Clock::time_point last = Clock::time_point::max();
  while (Clock::now() < last) {
    pollfd ends[] = {{grpc_left ? -1 : local.descriptor(), 0, 0}, {socket_.descriptor(), 0, 0}};
    ends[0].events = static_cast<short>((out.size() < kMostBytes ? POLLIN : 0) | (in.empty() ? 0 : POLLOUT));
    ends[1].events = static_cast<short>((in.empty() && !peer_left ? POLLIN : 0) | (out.empty() ? 0 : POLLOUT));
    poll(ends, 2, grpc_left || peer_left ? static_cast<int>(kFarewell.count()) : -1);
    bool heard = false;
    if ((ends[0].revents & ~POLLOUT) != 0) {
      const ssize_t count = ReadSome(local, buffer);
      heard = count > 0;
      grpc_left = count < 0;
      if (heard && !session.Seal(std::span(buffer).first(static_cast<size_t>(count)), out).ok()) return;
    }
    if ((ends[1].revents & ~POLLOUT) != 0 && !peer_left) {
      const ssize_t count = ReadSome(socket_, buffer);
      const auto came = std::span(buffer).first(static_cast<size_t>(std::max<ssize_t>(count, 0)));
      peer_left = count < 0 || !OpenAll(session, came, in);
    }
    if (!WriteSome(socket_, out)) {
      peer_left = true;
      out.clear();
    }
    if (!WriteSome(local, in)) {
      grpc_left = true;
      in.clear();
    }
    if (grpc_left || peer_left) last = std::min(last, Clock::now() + kFarewell);
    if (grpc_left && out.empty()) return;
    if (peer_left && in.empty() && out.empty() && !heard) return;
  }
}

}  // namespace partita
