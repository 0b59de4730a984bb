// A stream over a TCP connection whose two sides have agreed upon TLS. What is changed, lost or put in on the way ends
// it.
#ifndef PARTITA_RUNTIME_COMM_TRANSPORT_TLS_STREAM_H_
#define PARTITA_RUNTIME_COMM_TRANSPORT_TLS_STREAM_H_

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/admission/tls_session.h"
#include "runtime/comm/transport/tcp_stream.h"

namespace partita {

class TlsStream : public ByteStream {
 public:
  // `socket`: as of TcpStream. `session`: agreed upon over it.
  TlsStream(Socket socket, std::unique_ptr<TlsSession> session)
      : tcp_(std::move(socket)), session_(std::move(session)) {}

  bool Write(std::span<const char> head, std::span<const char> body) override;
  bool Read(std::span<char> to) override;
  void Close() override { tcp_.Close(); }
  bool may_damage() const override { return false; }
  std::string flaw() const override { return flaw_; }

 private:
  bool WritePart(std::span<const char> part);

  TcpStream tcp_;
  std::mutex mutex_;  // only for sealing and opening: not held while waiting for the network
  const std::unique_ptr<TlsSession> session_;

  // Used by the writer.
  std::vector<char> first_, sealed_;

  // Used by the reader.
  std::vector<char> came_;
  std::string flaw_;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_TRANSPORT_TLS_STREAM_H_
