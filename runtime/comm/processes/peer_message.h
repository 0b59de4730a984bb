// Control messages between two ranks. A rank that waits long sends the call it waits in (a probe), so that mismatched
// calls are found; the answer shows that the other rank is alive. A rank that fails sends the reason before it exits.
#ifndef PARTITA_RUNTIME_COMM_PROCESSES_PEER_MESSAGE_H_
#define PARTITA_RUNTIME_COMM_PROCESSES_PEER_MESSAGE_H_

#include <array>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "runtime/comm/shared/comm_call.h"

namespace partita {

// Sent as it lies in memory: only hosts of one byte order meet (transport/handshake.h).
struct PeerMessage {
  enum class Kind : int32_t { kProbe, kAnswer, kAbort, kLeave };

  Kind kind = Kind::kAnswer;
  int32_t group = 0;

  // kProbe: the call in which the sender waits.
  int64_t sequence = 0;  // of the sender's calls in the group
  CollectiveKind operation = CollectiveKind::kAllReduce;
  Reduction reduction = Reduction::kSum;
  int32_t root = 0;
  DType dtype = DType::kF32;
  int64_t in_count = 0, out_count = 0;
  uint64_t counts_hash = 0;
  int64_t to_receiver = 0, from_receiver = 0;  // all_to_all

  // kAbort: the code and message; kProbe: Describe().
  int32_t code = 0;
  std::array<char, 768> text = {};

  void SetText(const std::string& value);
  std::string Text() const;
};

// `peer`: the position in the group of the rank that will receive it.
PeerMessage ProbeOf(const CommCall& call, int group, int peer);

PeerMessage AbortOf(const absl::Status& status);

// The error that an abort carries.
absl::Status StatusOf(const PeerMessage& abort);

// What no rank would say, of what has come from a peer: bits may be wrong. Empty if there is nothing, and then the
// other functions can take the message.
std::string FindFlaw(const PeerMessage& message);

// Why this rank's call, which is under way, and the call of a probe that `peer` sent cannot be parts of one collective;
// empty if they can, or if one of the two ranks is only late.
std::string FindMismatch(const CommCall& call, int peer, const PeerMessage& probe);

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_PROCESSES_PEER_MESSAGE_H_
