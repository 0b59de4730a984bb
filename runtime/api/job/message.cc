#include "runtime/api/job/message.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr std::pair<MessageKind, const char*> kNames[] = {
    {MessageKind::kRunName, "the name of the run"},
    {MessageKind::kKernelChoice, "kernel choice"},
    {MessageKind::kGpuIds, "GPU ids"},
    {MessageKind::kFirstNonFinite, "first non-finite value"},
    {MessageKind::kValueParts, "parts of a value"},
    {MessageKind::kTraffic, "traffic"},
    {MessageKind::kMemoryUse, "memory use"},
    {MessageKind::kReplicaHashes, "replica hashes"},
    {MessageKind::kCommunicationTimes, "communication times"},
    {MessageKind::kStepTimes, "step times"},
    {MessageKind::kKindTimes, "times by kind"},
    {MessageKind::kStopVotes, "votes to stop"},
    {MessageKind::kWrongData, "wrong data"},
    {MessageKind::kLoadedStates, "loaded states"},
    {MessageKind::kCheckpointFolder, "checkpoint folder"},
    {MessageKind::kCheckpointTime, "checkpoint time"},
    {MessageKind::kCheckpointBegun, "checkpoint begun"},
    {MessageKind::kCheckpointShards, "checkpoint shards"},
    {MessageKind::kCheckpointRecord, "checkpoint record"},
    {MessageKind::kDigests, "what ranks have in common"},
};

}  // namespace

std::string NameOf(MessageKind kind) {
  const auto* const found = std::ranges::find(kNames, kind, &std::pair<MessageKind, const char*>::first);
  if (found != std::end(kNames)) return found->second;
  return fmt::format("a message of kind {}", static_cast<uint32_t>(kind));
}

absl::Status CheckHeaders(const Message& own, std::span<const MessageHeader> headers) {
  const MessageHeader& first = headers.front();
  for (size_t process = 0; process < headers.size(); ++process) {
    const MessageHeader& header = headers[process];
    if (header.kind != first.kind) {
      return Unavailable("rank {} sent '{}' while rank 0 expected '{}': one of them failed, or is elsewhere in its run",
                         process, NameOf(header.kind), NameOf(first.kind));
    }
    if (header.number != first.number) {
      return Unavailable("rank {} sent '{}' as its message {} while rank 0 expected message {}", process,
                         NameOf(header.kind), header.number, first.number);
    }
    if (header.bytes < 0 || header.bytes > own.most_bytes) {
      return Unavailable("rank {} sent {} bytes of '{}'; expected at most {}", process, header.bytes,
                         NameOf(header.kind), own.most_bytes);
    }
  }
  return absl::OkStatus();
}

}  // namespace partita
