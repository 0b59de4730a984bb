#include "runtime/comm/transport/shared_memory_stream.h"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace partita {

SharedMemoryStream::SharedMemoryStream(Socket socket, std::unique_ptr<SharedMemory> memory, bool is_maker,
                                       uint32_t ring_bytes)
    : socket_(std::move(socket)),
      memory_(std::move(memory)),
      in_(is_maker ? memory_->to_maker() : memory_->from_maker()),
      out_(is_maker ? memory_->from_maker() : memory_->to_maker()),
      ring_bytes_(ring_bytes) {
  watch_ = std::thread([this] {
    char byte;
    while (recv(socket_.descriptor(), &byte, 1, 0) < 0 && errno == EINTR) {
    }
    in_.End();
    out_.End();
  });
}

SharedMemoryStream::~SharedMemoryStream() {
  Close();
  watch_.join();
}

bool SharedMemoryStream::Write(std::span<const char> head, std::span<const char> body) {
  return out_.Write(head, ring_bytes_) && out_.Write(body, ring_bytes_);
}

void SharedMemoryStream::Close() {
  in_.End();
  out_.End();
  shutdown(socket_.descriptor(), SHUT_RDWR);
}

}  // namespace partita
