#include "tests/runtime/comm/nccl/emulated/peer_mesh.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <utility>

#include "runtime/base/check.h"

namespace partita::emulated_nccl {
namespace {

constexpr int kRetryMilliseconds = 2;  // until a peer listens

Outcome Stopped() { return {ncclInternalError, "the communicator was aborted"}; }
Outcome Gone(int peer) { return {ncclRemoteError, fmt::format("rank {} has closed its connection", peer)}; }
Outcome Failed(const char* call) { return {ncclSystemError, fmt::format("{}: {}", call, std::strerror(errno))}; }

socklen_t Address(const std::string& name, int rank, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  const std::string path = fmt::format("partita-nccl-{}-{}", name, rank);  // behind a zero byte: abstract
  CHECK(path.size() < sizeof(address.sun_path));
  std::memcpy(address.sun_path + 1, path.data(), path.size());
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + path.size());
}

// Returns false when the peer has closed its end.
bool SendSome(int socket, std::deque<PeerMesh::Outgoing>& line) {
  while (!line.empty()) {
    PeerMesh::Outgoing& next = line.front();
    if (next.bytes > 0) {
      const ssize_t sent = send(socket, next.from, next.bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent < 0) return errno == EAGAIN || errno == EINTR;
      next.from = static_cast<const char*>(next.from) + sent;
      next.bytes -= static_cast<size_t>(sent);
    }
    if (next.bytes == 0) line.pop_front();
  }
  return true;
}

// The same; `outcome` is what an `arrived` said.
bool ReceiveSome(int socket, std::deque<PeerMesh::Incoming>& line, Outcome& outcome) {
  while (!line.empty() && outcome.ok()) {
    PeerMesh::Incoming& next = line.front();
    if (next.bytes > 0) {
      const ssize_t received = recv(socket, next.to, next.bytes, MSG_DONTWAIT);
      if (received == 0) return false;
      if (received < 0) return errno == EAGAIN || errno == EINTR;
      next.to = static_cast<char*>(next.to) + received;
      next.bytes -= static_cast<size_t>(received);
    }
    if (next.bytes > 0) continue;
    if (next.arrived) outcome = next.arrived();
    line.pop_front();
  }
  return true;
}

}  // namespace

PeerMesh::PeerMesh(std::string name, int rank, int size)
    : name_(std::move(name)), rank_(rank), size_(size), sockets_(static_cast<size_t>(size), -1) {
  stop_ = eventfd(0, EFD_CLOEXEC);
  CHECK(stop_ >= 0);
}

PeerMesh::~PeerMesh() {
  for (const int socket : sockets_) {
    if (socket >= 0) close(socket);
  }
  if (listener_ >= 0) close(listener_);
  close(stop_);
}

void PeerMesh::Stop() {
  stopped_ = true;
  CHECK(eventfd_write(stop_, 1) == 0);
}

Outcome PeerMesh::Await(int descriptor, short events, int milliseconds) {
  pollfd polled[] = {{stop_, POLLIN, 0}, {descriptor, events, 0}};
  poll(polled, descriptor < 0 ? 1 : 2, milliseconds);
  return stopped_ ? Stopped() : Outcome{};
}

Outcome PeerMesh::Listen() {
  listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener_ < 0) return Failed("socket");
  sockaddr_un address;
  const socklen_t length = Address(name_, rank_, address);
  if (bind(listener_, reinterpret_cast<sockaddr*>(&address), length) != 0) {
    if (errno != EADDRINUSE) return Failed("bind");
    return {ncclInvalidUsage, fmt::format("two processes came as rank {} with the same unique id", rank_)};
  }
  return listen(listener_, size_) == 0 ? Outcome{} : Failed("listen");
}

Outcome PeerMesh::Connect(int peer) {
  const int made = sockets_[peer] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (made < 0) return Failed("socket");
  sockaddr_un address;
  const socklen_t length = Address(name_, peer, address);
  while (connect(made, reinterpret_cast<sockaddr*>(&address), length) != 0) {
    if (errno != ECONNREFUSED && errno != EAGAIN && errno != EINTR) return Failed("connect");
    if (Outcome outcome = Await(-1, 0, kRetryMilliseconds); !outcome.ok()) return outcome;
  }
  return {};
}

// Of two that have just connected: one message to the peer, or from it.
Outcome PeerMesh::Move(int socket, const Hello* sent, Hello* received) {
  std::deque<Outgoing> out;
  std::deque<Incoming> in;
  if (sent != nullptr) out.push_back({0, sent, sizeof(*sent)});
  if (received != nullptr) in.push_back({0, received, sizeof(*received), nullptr});
  Outcome outcome;
  while (true) {
    if (!SendSome(socket, out) || !ReceiveSome(socket, in, outcome)) {
      return {ncclRemoteError, "a rank has closed its connection while it joined"};
    }
    if (out.empty() && in.empty()) return {};
    outcome = Await(socket, static_cast<short>(out.empty() ? POLLIN : POLLOUT), -1);
    if (!outcome.ok()) return outcome;
  }
}

Outcome PeerMesh::Fits(const Hello& peer) const {
  if (peer.size == size_ && peer.rank >= 0 && peer.rank < size_) return {};
  return {ncclInvalidUsage, fmt::format("rank {} of {} met rank {} of {}", rank_, size_, peer.rank, peer.size)};
}

// One peer of a higher rank.
Outcome PeerMesh::Accept(const Hello& own, std::vector<Hello>& all) {
  int accepted = -1;
  while ((accepted = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)) < 0) {
    if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) return Failed("accept");
    if (Outcome outcome = Await(listener_, POLLIN, -1); !outcome.ok()) return outcome;
  }
  Hello hello;
  Outcome outcome = Move(accepted, nullptr, &hello);
  if (outcome.ok()) outcome = Move(accepted, &own, nullptr);
  if (outcome.ok()) outcome = Fits(hello);
  if (outcome.ok() && (hello.rank <= rank_ || sockets_[hello.rank] >= 0)) {
    outcome = {ncclInvalidUsage, fmt::format("rank {} came twice", hello.rank)};
  }
  if (!outcome.ok()) {
    close(accepted);
    return outcome;
  }
  sockets_[hello.rank] = accepted;
  all[hello.rank] = hello;
  return {};
}

Outcome PeerMesh::Join(const Hello& own, std::vector<Hello>& all) {
  all.assign(static_cast<size_t>(size_), Hello());
  all[rank_] = own;
  Outcome outcome = Listen();
  for (int peer = 0; peer < rank_ && outcome.ok(); ++peer) {
    outcome = Connect(peer);
    if (outcome.ok()) outcome = Move(sockets_[peer], &own, nullptr);
    if (outcome.ok()) outcome = Move(sockets_[peer], nullptr, &all[peer]);
    if (outcome.ok()) outcome = Fits(all[peer]);
  }
  for (int more = size_ - 1 - rank_; more > 0 && outcome.ok(); --more) outcome = Accept(own, all);
  if (listener_ >= 0) close(std::exchange(listener_, -1));
  return outcome;
}

Outcome PeerMesh::Exchange(const std::vector<Outgoing>& sends, const std::vector<Incoming>& receives) {
  std::vector<std::deque<Outgoing>> out(sockets_.size());
  std::vector<std::deque<Incoming>> in(sockets_.size());
  for (const Outgoing& send : sends) out[send.peer].push_back(send);
  for (const Incoming& receive : receives) in[receive.peer].push_back(receive);
  while (true) {
    std::vector<pollfd> polled = {{stop_, POLLIN, 0}};
    for (int peer = 0; peer < size_; ++peer) {
      if (peer == rank_) continue;
      Outcome outcome;
      // What a peer sent before it closed is still read.
      const bool receives_more = ReceiveSome(sockets_[peer], in[peer], outcome);
      if (!outcome.ok()) return outcome;
      if (!receives_more || !SendSome(sockets_[peer], out[peer])) return Gone(peer);
      const int events = (out[peer].empty() ? 0 : POLLOUT) | (in[peer].empty() ? 0 : POLLIN);
      if (events != 0) polled.push_back({sockets_[peer], static_cast<short>(events), 0});
    }
    if (polled.size() == 1) return {};
    if (stopped_) return Stopped();
    poll(polled.data(), polled.size(), -1);
  }
}

}  // namespace partita::emulated_nccl
