#include "runtime/comm/processes/peer_message.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <span>
#include <string_view>

#include "runtime/comm/peer_status.h"
#include "runtime/comm/processes/slot_hash.h"

namespace partita {
namespace {

void AddBlocks(const CommPair& pair, PeerMessage& message) {
  message.exchanges = 1;
  message.blocks_sent = static_cast<int32_t>(pair.sent.size());
  message.blocks_received = static_cast<int32_t>(pair.received.size());
  size_t next = 0;
  const auto add = [&](const ConstBuffer& buffer) {
    if (next < message.blocks.size()) message.blocks[next++] = {buffer.count, buffer.dtype};
  };
  for (const ConstBuffer& buffer : pair.sent) add(buffer);
  for (const Buffer& buffer : pair.received) add(buffer);
}

bool AllBlocksListed(const PeerMessage& probe) {
  return int64_t{probe.blocks_sent} + probe.blocks_received <= PeerMessage::kMostBlocks;
}

// The blocks of the peer's call for this rank, all of which the probe lists.
CommPair PairOf(const PeerMessage& probe) {
  CommPair pair;
  const PeerMessage::Block* next = probe.blocks.data();
  for (int b = 0; b < probe.blocks_sent; ++b, ++next) pair.sent.push_back({nullptr, next->count, next->dtype});
  for (int b = 0; b < probe.blocks_received; ++b, ++next) pair.received.push_back({nullptr, next->count, next->dtype});
  return pair;
}

// The peer's collective, as far as the probe tells.
void FillCall(const PeerMessage& probe, const CommCall& own, int peer, CommCall& call) {
  call.operation = probe.operation;
  call.rank = peer;
  call.reduction = probe.reduction;
  call.root = probe.root;
  call.in = {nullptr, probe.in_count, probe.in_dtype};
  call.out = {nullptr, probe.out_count, probe.out_dtype};
  if (probe.operation == CommOperation::kAllToAll && own.operation == CommOperation::kAllToAll) {
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

bool AreBlocks(const PeerMessage& probe) {
  if (probe.blocks_sent < 0 || probe.blocks_received < 0) return false;
  const int64_t all = int64_t{probe.blocks_sent} + probe.blocks_received;
  const auto listed = std::span(probe.blocks).first(std::min<int64_t>(all, PeerMessage::kMostBlocks));
  return std::ranges::all_of(listed, [](const auto& block) { return block.count >= 0 && IsDType(block.dtype); });
}

}  // namespace

void PeerMessage::SetText(const std::string& value) {
  const size_t count = std::min(value.size(), text.size() - 1);
  std::memcpy(text.data(), value.data(), count);
  text[count] = '\0';
}

std::string PeerMessage::Text() const { return {text.data(), strnlen(text.data(), text.size())}; }

PeerMessage ProbeOf(const CommCall& call, int group, int peer, int64_t collectives, int64_t pair_sequence) {
  PeerMessage message;
  message.kind = PeerMessage::Kind::kProbe;
  message.group = group;
  message.sequence = call.sequence;
  message.collectives = collectives;
  message.pair_sequence = pair_sequence;
  message.operation = call.operation;
  message.reduction = call.reduction;
  message.root = call.root;
  message.in_dtype = call.in.dtype;
  message.out_dtype = call.out.dtype;
  message.in_count = call.in.count;
  message.out_count = call.out.count;
  message.counts_hash = HashCounts(call.counts);
  if (call.operation == CommOperation::kAllToAll) {
    message.to_receiver = call.counts[peer];
    message.from_receiver = call.receive_counts[peer];
  }
  const auto pair = std::ranges::find(call.pairs, peer, &CommPair::peer);
  if (pair != call.pairs.end()) AddBlocks(*pair, message);
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
  if (!IsOneOf(message.operation, CommOperation::kSendReceive)) {
    return fmt::format("operation {}", static_cast<int>(message.operation));
  }
  if (!IsDType(message.in_dtype) || !IsDType(message.out_dtype)) return "elements of an unknown type";
  if (AreBlocks(message)) return "";
  return fmt::format("{} blocks sent and {} received", message.blocks_sent, message.blocks_received);
}

std::string FindMismatch(const CommCall& call, int peer, const PeerMessage& probe, int64_t collectives,
                         int64_t pair_sequence) {
  const bool own_pairs = call.operation == CommOperation::kSendReceive;
  const bool its_pairs = probe.operation == CommOperation::kSendReceive;
  const auto own_pair = std::ranges::find(call.pairs, peer, &CommPair::peer);
  const bool own_exchanges = own_pair != call.pairs.end();
  if (own_pairs && its_pairs) {
    if (!own_exchanges || probe.exchanges == 0 || pair_sequence != probe.pair_sequence) return "";
    return AllBlocksListed(probe) ? FindMismatch(*own_pair, PairOf(probe)) : "";
  }
  if (own_pairs) {
    // The peer is in a collective that this rank makes later, and has not made the exchange before it.
    const bool never = own_exchanges && probe.collectives > collectives && probe.pair_sequence < pair_sequence;
    return never ? "different operations" : "";
  }
  if (its_pairs) {
    const bool never = probe.exchanges != 0 && collectives > probe.collectives && pair_sequence < probe.pair_sequence;
    return never ? "different operations" : "";
  }
  if (collectives != probe.collectives) return "";
  CommCall other;
  FillCall(probe, call, peer, other);
  return FindMismatch(call, other);
}

}  // namespace partita
