// Messages between a rank and the rendezvous, over one connection whose two ends have proved who they are.
//
// A message is the length of what follows (4 bytes, little endian) and a serialized protobuf. With TLS, everything is
// sealed. No call blocks: the caller polls descriptor() and calls Send and Receive.
#ifndef PARTITA_RUNTIME_RENDEZVOUS_CONTROL_STREAM_H_
#define PARTITA_RUNTIME_RENDEZVOUS_CONTROL_STREAM_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/admission/socket.h"
#include "runtime/admission/tls_session.h"

namespace google::protobuf {
class MessageLite;
}  // namespace google::protobuf

namespace partita {

// Thread-compatible. After an error of any call the stream is of no more use, except that Next still returns the
// messages that came before the error.
class ControlStream {
 public:
  static constexpr size_t kMostMessageBytes = 4 << 20;
  static constexpr size_t kMostPendingBytes = 16 << 20;  // to a peer that does not read

  explicit ControlStream(Socket socket);

  // Seals everything from now on; called before the first message. `key`: ConnectionSeeds::tls. Messages may be queued
  // at once; they are sent as soon as both sides agree.
  absl::Status StartTls(TlsSession::Side side, const std::string& key);

  // Appends a message to what Send sends. kInvalidArgument: it is longer than kMostMessageBytes. kUnavailable: the peer
  // does not read.
  absl::Status Queue(const google::protobuf::MessageLite& message);

  // Sends as much as the system accepts. kUnavailable: the connection ended.
  absl::Status Send();
  bool has_pending() const { return !out_.empty(); }

  // Takes what has come. kUnavailable: the connection ended, or the peer sent what it must not.
  absl::Status Receive();

  // Sets `message` to the next one that has come; false: there is none yet. kUnavailable: the peer sent no message.
  absl::StatusOr<bool> Next(google::protobuf::MessageLite& message);

  // Ends the sending direction: the peer reads the end of the stream after what was sent.
  void FinishSending();

  int descriptor() const { return socket_.descriptor(); }

  // What to poll for.
  short events() const;

 private:
  absl::Status TakeIn(std::span<const char> came);

  Socket socket_;
  std::unique_ptr<TlsSession> tls_;
  bool tls_agreed_ = false;
  std::vector<char> waiting_;  // until both sides agree on TLS
  std::vector<char> out_, in_;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_RENDEZVOUS_CONTROL_STREAM_H_
