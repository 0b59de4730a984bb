#include "runtime/comm/transport/tcp_stream.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace partita {

bool TcpStream::Write(std::span<const char> head, std::span<const char> body) {
  while (!head.empty() || !body.empty()) {
    iovec parts[2] = {{const_cast<char*>(head.data()), head.size()}, {const_cast<char*>(body.data()), body.size()}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    const ssize_t count = sendmsg(socket_.descriptor(), &message, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    const size_t of_head = std::min(head.size(), static_cast<size_t>(count));
    head = head.subspan(of_head);
    body = body.subspan(static_cast<size_t>(count) - of_head);
  }
  return true;
}

size_t TcpStream::Receive(std::span<char> to) {
  while (true) {
    const ssize_t count = recv(socket_.descriptor(), to.data(), to.size(), 0);
    if (count >= 0) return static_cast<size_t>(count);
    if (errno != EINTR) return 0;
  }
}

bool TcpStream::Read(std::span<char> to) {
  while (!to.empty()) {
    if (unread_.empty()) {
      const bool direct = to.size() >= ahead_.size();
      const size_t count = Receive(direct ? to : std::span<char>(ahead_));
      if (count == 0) return false;
      if (direct) {
        to = to.subspan(count);
        continue;
      }
      unread_ = std::span(ahead_).first(count);
    }
    const size_t count = std::min(unread_.size(), to.size());
    std::memcpy(to.data(), unread_.data(), count);
    to = to.subspan(count);
    unread_ = unread_.subspan(count);
  }
  return true;
}

void TcpStream::Close() { shutdown(socket_.descriptor(), SHUT_RDWR); }

}  // namespace partita
