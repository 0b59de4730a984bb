// A stream over a TCP connection.
#ifndef PARTITA_RUNTIME_COMM_TRANSPORT_TCP_STREAM_H_
#define PARTITA_RUNTIME_COMM_TRANSPORT_TCP_STREAM_H_

#include <array>
#include <memory>

#include "runtime/admission/socket.h"
#include "runtime/comm/transport/byte_stream.h"

namespace partita {

class TcpStream : public ByteStream {
 public:
  // `socket`: connected, and made a stream (Socket::MakeStream).
  explicit TcpStream(Socket socket) : socket_(std::move(socket)) {}

  bool Write(std::span<const char> head, std::span<const char> body) override;
  bool Read(std::span<char> to) override;
  void Close() override;

  // As many bytes as have come, at most to.size(), as soon as there are any. 0: the end. Not together with Read.
  size_t Receive(std::span<char> to);

 private:
  const Socket socket_;
  // What came behind a header is read together with it.
  std::array<char, 4096> ahead_;
  std::span<char> unread_;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_TRANSPORT_TCP_STREAM_H_
