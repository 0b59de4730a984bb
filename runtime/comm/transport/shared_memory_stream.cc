#include "runtime/comm/transport/shared_memory_stream.h"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace partita {

SharedMemoryStream::SharedMemoryStream(Socket socket, std::unique_ptr<SharedMemory> memory, bool is_maker)
    : socket_(std::move(socket)),
      memory_(std::move(memory)),
      in_(is_maker ? memory_->to_maker() : memory_->from_maker()),
      out_(is_maker ? memory_->from_maker() : memory_->to_maker()) {
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
  return out_.Write(head) && out_.Write(body);
}

void SharedMemoryStream::Close() {
  in_.End();
  out_.End();
  shutdown(socket_.descriptor(), SHUT_RDWR);
}

}  // namespace partita
