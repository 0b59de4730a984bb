// A rank's stream to the rendezvous of its job.
#ifndef PARTITA_RUNTIME_RENDEZVOUS_RENDEZVOUS_CLIENT_H_
#define PARTITA_RUNTIME_RENDEZVOUS_RENDEZVOUS_CLIENT_H_

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/comm/key_value_store.h"

namespace partita {

// Thread-safe.
class RendezvousClient : public KeyValueStore {
 public:
  struct Options {
    std::string address = "127.0.0.1";
    int port = 0;
    int rank = 0;
    int ranks = 1;
    std::string token;
    bool tls = false;  // encrypts what is said; the same for all ranks
    std::chrono::milliseconds join_timeout = std::chrono::seconds(60);
    std::chrono::milliseconds timeout = std::chrono::seconds(10);  // of a silent server
    // Called once, on a thread of the client, when the job must end: a rank is lost or silent, or has reported a
    // failure. Not called after Leave.
    std::function<void(const absl::Status&)> on_failure = [](const absl::Status&) {};
  };

  // Waits until all ranks have joined, and before that until a failed job with this rank is gone. kInvalidArgument:
  // refused (wrong token, no agreement on TLS, a rank that has already joined, another number of ranks). kUnavailable:
  // no server, or missing ranks, which it names.
  static absl::StatusOr<std::unique_ptr<RendezvousClient>> Join(const Options& options);
  ~RendezvousClient() override = default;  // as Leave

  // Waits for all ranks. kUnavailable names those that did not come.
  virtual absl::Status Barrier(const std::string& name, std::chrono::milliseconds timeout) = 0;

  // Ends the job: every rank's on_failure is called with `status`.
  virtual void Fail(const absl::Status& status) = 0;

  // This rank is done; its end is no failure any more.
  virtual void Leave() = 0;
};

// Compares what ranks must have in common, by name; all ranks call it once. kInvalidArgument names the first field that
// differs from rank 0's, both ranks and both values, and ends the job with it. A field that one of them lacks counts as
// empty.
absl::Status CompareDigests(RendezvousClient& client, int rank, const std::map<std::string, std::string>& fields,
                            std::chrono::milliseconds timeout);

}  // namespace partita

#endif  // PARTITA_RUNTIME_RENDEZVOUS_RENDEZVOUS_CLIENT_H_
