#include "runtime/rendezvous/control_stream.h"

#include <google/protobuf/message_lite.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "runtime/base/status.h"

namespace partita {
namespace {

static_assert(std::endian::native == std::endian::little);
constexpr size_t kLengthBytes = sizeof(uint32_t);

constexpr size_t kReadBytes = 64 << 10;

}  // namespace

ControlStream::ControlStream(Socket socket) : socket_(std::move(socket)) {
  const int on = 1;
  setsockopt(descriptor(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));  // a local socket has no such option
}

absl::Status ControlStream::StartTls(TlsSession::Side side, const std::string& key) {
  ASSIGN_OR_RETURN(tls_, TlsSession::Begin(side, key));
  return tls_->Advance(out_).status();
}

absl::Status ControlStream::Queue(const google::protobuf::MessageLite& message) {
  const size_t bytes = message.ByteSizeLong();
  if (bytes > kMostMessageBytes) {
    return InvalidArgument("a message to another rank has {} bytes; at most {} are allowed", bytes, kMostMessageBytes);
  }
  if (out_.size() + waiting_.size() + bytes > kMostPendingBytes) {
    return Unavailable("the peer does not read: {} bytes wait for it", out_.size() + waiting_.size());
  }
  const auto length = static_cast<uint32_t>(bytes);
  std::vector<char> framed(kLengthBytes + bytes);
  std::memcpy(framed.data(), &length, kLengthBytes);
  if (!message.SerializeToArray(framed.data() + kLengthBytes, static_cast<int>(bytes))) {
    return InvalidArgument("a message to another rank cannot be serialized");
  }
  if (tls_agreed_) return tls_->Seal(framed, out_);
  std::vector<char>& to = tls_ == nullptr ? out_ : waiting_;
  to.insert(to.end(), framed.begin(), framed.end());
  return absl::OkStatus();
}

absl::Status ControlStream::Send() {
  size_t sent = 0;
  absl::Status status;
  while (sent < out_.size()) {
    const ssize_t count = send(descriptor(), out_.data() + sent, out_.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count >= 0) {
      sent += static_cast<size_t>(count);
    } else if (errno != EINTR) {
      if (errno != EAGAIN) status = Unavailable("the connection ended: {}", std::strerror(errno));
      break;
    }
  }
  out_.erase(out_.begin(), out_.begin() + static_cast<ptrdiff_t>(sent));
  return status;
}

absl::Status ControlStream::Receive() {
  std::array<char, kReadBytes> buffer;
  // The caller takes the messages before more is read: what one peer makes this process keep is bounded.
  while (in_.size() <= kMostMessageBytes + kLengthBytes) {
    const ssize_t count = recv(descriptor(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (count > 0) {
      RETURN_IF_ERROR(TakeIn(std::span(buffer).first(static_cast<size_t>(count))));
    } else if (count == 0) {
      return Unavailable("the connection was closed");
    } else if (errno == EAGAIN) {
      break;
    } else if (errno != EINTR) {
      return Unavailable("the connection ended: {}", std::strerror(errno));
    }
  }
  return absl::OkStatus();
}

absl::Status ControlStream::TakeIn(std::span<const char> came) {
  if (tls_ == nullptr) {
    in_.insert(in_.end(), came.begin(), came.end());
    return absl::OkStatus();
  }
  tls_->Give(came);
  if (!tls_agreed_) {
    ASSIGN_OR_RETURN(tls_agreed_, tls_->Advance(out_));
    if (!tls_agreed_) return absl::OkStatus();
    if (!waiting_.empty()) RETURN_IF_ERROR(tls_->Seal(waiting_, out_));
    waiting_.clear();
  }
  while (true) {
    const size_t had = in_.size();
    in_.resize(had + kReadBytes);
    const absl::StatusOr<size_t> opened = tls_->Open(std::span(in_).subspan(had));
    in_.resize(had + opened.value_or(0));
    RETURN_IF_ERROR(opened.status());
    if (*opened == 0) return absl::OkStatus();
  }
}

absl::StatusOr<bool> ControlStream::Next(google::protobuf::MessageLite& message) {
  if (in_.size() < kLengthBytes) return false;
  uint32_t bytes = 0;
  std::memcpy(&bytes, in_.data(), kLengthBytes);
  if (bytes > kMostMessageBytes) return Unavailable("the peer sent a message of {} bytes", bytes);
  if (in_.size() < kLengthBytes + bytes) return false;
  if (!message.ParseFromArray(in_.data() + kLengthBytes, static_cast<int>(bytes))) {
    return Unavailable("the peer sent {} bytes that are no message", bytes);
  }
  in_.erase(in_.begin(), in_.begin() + static_cast<ptrdiff_t>(kLengthBytes + bytes));
  return true;
}

void ControlStream::FinishSending() { shutdown(descriptor(), SHUT_WR); }

short ControlStream::events() const { return static_cast<short>(POLLIN | (has_pending() ? POLLOUT : 0)); }

}  // namespace partita
