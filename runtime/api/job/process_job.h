// A job whose ranks are processes, one rank in each: they meet at the rendezvous, make sure that they mean the same,
// and talk over connections of their own (runtime/comm/processes). A program that embeds Partita may replace all of it
// by a channel, or the rendezvous by a store.
#ifndef PARTITA_RUNTIME_API_JOB_PROCESS_JOB_H_
#define PARTITA_RUNTIME_API_JOB_PROCESS_JOB_H_

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/api/job/job.h"
#include "runtime/comm/peer_channel.h"
#include "runtime/flight_recorder/flight_record.h"

namespace partita {

struct ProcessJobOptions {
  int rank = 0;
  int ranks = 1;
  std::string address = "127.0.0.1";            // of rank 0's rendezvous
  int port = 0;                                 // the same
  std::string interface_address = "127.0.0.1";  // numeric, of this process's own interface
  std::string token;
  // Encrypts all connections by TLS 1.3, with keys made of the token, which must not be empty: those to the rendezvous,
  // and between ranks. Ranks of one host talk through memory, which nothing need hide. The same for all ranks.
  bool tls = false;
  std::chrono::milliseconds join_timeout = std::chrono::seconds(60);
  std::chrono::milliseconds timeout = std::chrono::seconds(10);  // of a rank that is silent
  // What all ranks must have in common: CompareDigests.
  std::map<std::string, std::string> digests;
  // The embedding program's, in place of the rendezvous: addresses, port and token are not used. One that carries bytes
  // replaces the connections as well, TLS is refused then, and Start waits for the other ranks as long as the channel
  // does.
  std::shared_ptr<const PeerChannel> channel = nullptr;
  // Called once, on a thread of the job, when it is to end because of another rank; collectives end by themselves. The
  // message names the rank, and the collectives that were under way here; with it goes what this one had done until
  // then (none: it was not connected yet).
  std::function<void(const absl::Status&, const std::vector<FlightRecord>&)> on_failure =
      [](const absl::Status&, const std::vector<FlightRecord>&) {};
};

class ProcessJob : public Job {
 public:
  // Rank 0 serves the rendezvous. kInvalidArgument: refused, TLS without a token, or the ranks do not agree on TLS or a
  // digest. kUnavailable: ranks do not come (named). kResourceExhausted: rank 0's port is taken.
  static absl::StatusOr<std::unique_ptr<ProcessJob>> Start(const ProcessJobOptions& options);

  // Leaves; rank 0 waits until the others have left too. Sessions must be gone.
  ~ProcessJob() override = default;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_API_JOB_PROCESS_JOB_H_
