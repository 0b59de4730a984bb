#include "runtime/comm/gloo/gloo_message.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "runtime/comm/gloo/gloo_hash.h"

namespace partita {
namespace {

void AddBlocks(const CommPair& pair, GlooMessage& message) {
  message.exchanges = true;
  message.blocks_sent = static_cast<int32_t>(pair.sent.size());
  message.blocks_received = static_cast<int32_t>(pair.received.size());
  size_t next = 0;
  const auto add = [&](const ConstBuffer& buffer, bool sent) {
    if (next < message.blocks.size()) message.blocks[next++] = {buffer.count, buffer.dtype, sent};
  };
  for (const ConstBuffer& buffer : pair.sent) add(buffer, true);
  for (const Buffer& buffer : pair.received) add(buffer, false);
}

// The blocks of the peer's call for this rank, as far as the probe tells.
CommPair PairOf(const GlooMessage& probe) {
  CommPair pair;
  pair.sent.resize(static_cast<size_t>(probe.blocks_sent));
  pair.received.resize(static_cast<size_t>(probe.blocks_received));
  size_t sent = 0, received = 0;
  for (int b = 0; b < std::min(GlooMessage::kMostBlocks, probe.blocks_sent + probe.blocks_received); ++b) {
    const GlooMessage::Block& block = probe.blocks[b];
    if (block.sent) {
      pair.sent[sent++] = {nullptr, block.count, block.dtype};
    } else {
      pair.received[received++] = {nullptr, block.count, block.dtype};
    }
  }
  return pair;
}

// The peer's collective, as far as the probe tells.
void FillCall(const GlooMessage& probe, const CommCall& own, int peer, CommCall& call) {
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

bool SameFirstBlocks(const GlooMessage& probe) {
  return probe.blocks_sent + probe.blocks_received <= GlooMessage::kMostBlocks;
}

}  // namespace

void GlooMessage::SetText(const std::string& value) {
  const size_t count = std::min(value.size(), text.size() - 1);
  std::memcpy(text.data(), value.data(), count);
  text[count] = '\0';
}

std::string GlooMessage::Text() const { return {text.data(), strnlen(text.data(), text.size())}; }

GlooMessage ProbeOf(const CommCall& call, int group, int peer, int64_t collectives, int64_t pair_sequence) {
  GlooMessage message;
  message.kind = GlooMessage::Kind::kProbe;
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

GlooMessage AbortOf(const absl::Status& status) {
  GlooMessage message;
  message.kind = GlooMessage::Kind::kAbort;
  message.code = static_cast<int32_t>(status.code());
  message.SetText(std::string(status.message()));
  return message;
}

absl::Status StatusOf(const GlooMessage& abort) {
  return absl::Status(static_cast<absl::StatusCode>(abort.code), abort.Text());
}

std::string FindMismatch(const CommCall& call, int peer, const GlooMessage& probe, int64_t collectives,
                         int64_t pair_sequence) {
  const bool own_pairs = call.operation == CommOperation::kSendReceive;
  const bool its_pairs = probe.operation == CommOperation::kSendReceive;
  const auto own_pair = std::ranges::find(call.pairs, peer, &CommPair::peer);
  const bool own_exchanges = own_pair != call.pairs.end();
  if (own_pairs && its_pairs) {
    if (!own_exchanges || !probe.exchanges || pair_sequence != probe.pair_sequence) return "";
    return SameFirstBlocks(probe) ? FindMismatch(*own_pair, PairOf(probe)) : "";
  }
  if (own_pairs) {
    // The peer is in a collective that this rank makes later, and has not made the exchange before it.
    const bool never = own_exchanges && probe.collectives > collectives && probe.pair_sequence < pair_sequence;
    return never ? "different operations" : "";
  }
  if (its_pairs) {
    const bool never = probe.exchanges && collectives > probe.collectives && pair_sequence < probe.pair_sequence;
    return never ? "different operations" : "";
  }
  if (collectives != probe.collectives) return "";
  CommCall other;
  FillCall(probe, call, peer, other);
  return FindMismatch(call, other);
}

}  // namespace partita
