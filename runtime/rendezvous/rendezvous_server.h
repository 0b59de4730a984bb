// Serves the rendezvous of one job: see rendezvous.proto. Runs in rank 0.
//
// One thread serves all ranks. A connection is read after its peer has proved that it knows the token
// (runtime/admission); other connections take a descriptor for the time of a handshake.
#ifndef PARTITA_RUNTIME_RENDEZVOUS_RENDEZVOUS_SERVER_H_
#define PARTITA_RUNTIME_RENDEZVOUS_RENDEZVOUS_SERVER_H_

#include <chrono>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace partita {

class RendezvousServer {
 public:
  struct Options {
    std::string address = "127.0.0.1";
    int port = 0;  // 0: any
    int ranks = 1;
    std::string token;
    bool tls = false;  // encrypts what is said; the same for all ranks: one that says otherwise ends the job
    std::chrono::milliseconds timeout = std::chrono::seconds(10);  // of a rank that is silent
    // For a connection that does not identify itself
    std::chrono::milliseconds handshake_timeout = std::chrono::seconds(5);
    size_t strangers = 64;  // at a time: Door::Limits
  };

  // Waits up to 70 s for a connection of another program that comes from the port. kResourceExhausted: the port is
  // taken. kInvalidArgument: this machine does not have the address, or the port is for privileged users.
  static absl::StatusOr<std::unique_ptr<RendezvousServer>> Start(const Options& options);
  virtual ~RendezvousServer() = default;  // ends all streams

  virtual int port() const = 0;

  // Waits until all ranks that joined have left or failed; false: not within `timeout`.
  virtual bool WaitUntilEmpty(std::chrono::milliseconds timeout) = 0;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_RENDEZVOUS_RENDEZVOUS_SERVER_H_
