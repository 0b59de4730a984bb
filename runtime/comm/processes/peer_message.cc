#include "runtime/comm/processes/peer_message.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "runtime/comm/peer_status.h"
#include "runtime/comm/processes/slot_hash.h"

namespace partita {
namespace {

// The peer's collective, as far as the probe tells.
void FillCall(const PeerMessage& probe, const CommCall& own, int peer, CommCall& call) {
  call.kind = probe.operation;
  call.rank = peer;
  call.reduction = probe.reduction;
  call.root = probe.root;
  call.in = {nullptr, probe.in_count, probe.dtype};
  call.out = {nullptr, probe.out_count, probe.dtype};
  if (probe.operation == CollectiveKind::kAllToAll && own.kind == CollectiveKind::kAllToAll) {
    call.counts.resize(own.counts.size());
    call.receive_counts.resize(own.counts.size());
    call.counts[own.rank] = probe.to_receiver;
    call.receive_counts[own.rank] = probe.from_receiver;
  } else if (probe.counts_hash == HashCounts(own.counts)) {
    call.counts = own.counts;
  }
}

template <typename Enum>
bool IsOneOf(Enum value, Enum last) {
  return static_cast<int>(value) >= 0 && static_cast<int>(value) <= static_cast<int>(last);
}

bool IsDType(DType dtype) { return std::ranges::find(kDTypes, dtype) != std::end(kDTypes); }

}  // namespace

void PeerMessage::SetText(const std::string& value) {
  const size_t count = std::min(value.size(), text.size() - 1);
  std::memcpy(text.data(), value.data(), count);
  text[count] = '\0';
}

std::string PeerMessage::Text() const { return {text.data(), strnlen(text.data(), text.size())}; }

PeerMessage ProbeOf(const CommCall& call, int group, int peer) {
  PeerMessage message;
  message.kind = PeerMessage::Kind::kProbe;
  message.group = group;
  message.sequence = call.sequence;
  message.operation = call.kind;
  message.reduction = call.reduction;
  message.root = call.root;
  message.dtype = call.in.dtype;
  message.in_count = call.in.count;
  message.out_count = call.out.count;
  message.counts_hash = HashCounts(call.counts);
  if (call.kind == CollectiveKind::kAllToAll) {
    message.to_receiver = call.counts[peer];
    message.from_receiver = call.receive_counts[peer];
  }
  message.SetText(call.Describe());
  return message;
}

PeerMessage AbortOf(const absl::Status& status) {
  PeerMessage message;
  message.kind = PeerMessage::Kind::kAbort;
  message.code = static_cast<int32_t>(status.code());
  message.SetText(std::string(status.message()));
  return message;
}

absl::Status StatusOf(const PeerMessage& abort) { return PeerStatus(abort.code, abort.Text()); }

std::string FindFlaw(const PeerMessage& message) {
  using Kind = PeerMessage::Kind;
  if (!IsOneOf(message.kind, Kind::kLeave)) return fmt::format("kind {}", static_cast<int>(message.kind));
  if (message.kind == Kind::kAbort) return message.code == 0 ? "a failure without a code" : "";
  if (message.kind != Kind::kProbe) return "";
  if (!IsOneOf(message.operation, CollectiveKind::kAllToAll)) {
    return fmt::format("operation {}", static_cast<int>(message.operation));
  }
  return IsDType(message.dtype) ? "" : "elements of an unknown type";
}

std::string FindMismatch(const CommCall& call, int peer, const PeerMessage& probe) {
  if (call.sequence != probe.sequence) return "";
  CommCall other;
  FillCall(probe, call, peer, other);
  return FindMismatch(call, other);
}

}  // namespace partita
