// The messages that processes of a job exchange between steps (Job::AllGather), and the checks that they match.
//
// A message travels behind a header: its kind, its number among the messages of this process, its size. All processes
// compare all headers before any of them takes memory for what follows, so one that is elsewhere in its run than the
// others ends the job with a sentence on every rank. What a message holds is read by PackedReader, which never reads
// past its end.
#ifndef PARTITA_RUNTIME_API_JOB_MESSAGE_H_
#define PARTITA_RUNTIME_API_JOB_MESSAGE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace partita {

enum class MessageKind : uint32_t {
  kRunName = 1,
  kKernelChoice,
  kGpuIds,
  kFirstNonFinite,
  kValueParts,
  kTraffic,
  kMemoryUse,
  kReplicaHashes,
  kCommunicationTimes,
  kStepTimes,
  kKindTimes,
  kStopVotes,
  kWrongData,
  kLoadedStates,
  kCheckpointFolder,
  kCheckpointTime,
  kCheckpointBegun,
  kCheckpointShards,
  kCheckpointRecord,
  kDigests,
};

// "checkpoint shards"; of a number that is no kind "a message of kind 77".
std::string NameOf(MessageKind kind);

inline constexpr int64_t kMostMessageBytes = int64_t{64} << 20;

// `bytes` must outlive it. No process takes more than `most_bytes` from another one.
struct Message {
  MessageKind kind;
  std::string_view bytes;
  int64_t most_bytes = kMostMessageBytes;
};

// Sent as it lies in memory: only hosts of one byte order meet (runtime/admission/handshake.h).
struct MessageHeader {
  MessageKind kind = MessageKind::kRunName;
  uint32_t number = 0;  // of the sender's messages so far, modulo 2^32
  int64_t bytes = 0;
};
static_assert(sizeof(MessageHeader) == 16);

// `headers`: of all processes, in the order of their first ranks, `own` among them. kUnavailable: two processes send
// different kinds of messages, or one sends more than `most_bytes`. The error is equal on all processes if their
// `most_bytes` are equal.
absl::Status CheckHeaders(const Message& own, std::span<const MessageHeader> headers);

}  // namespace partita

#endif  // PARTITA_RUNTIME_API_JOB_MESSAGE_H_
