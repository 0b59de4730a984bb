// What a peer says is looked at before it is believed: its bits may be wrong.
#include "runtime/comm/processes/peer_message.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

namespace partita {
namespace {

constexpr int kPeer = 1;

// A rank that sends its peer two blocks and waits for one.
struct Exchange {
  Exchange() {
    call.operation = CommOperation::kSendReceive;
    CommPair& pair = call.pairs.emplace_back();
    pair.peer = kPeer;
    pair.sent = {{nullptr, 3, DType::kF32}, {nullptr, 5, DType::kI32}};
    pair.received = {{nullptr, 7, DType::kF64}};
  }
  CommCall call;
};

// What the peer says while it waits for `call`, which fits.
PeerMessage AnswerTo(const CommCall& call) {
  CommCall other;
  other.operation = call.operation;
  CommPair& pair = other.pairs.emplace_back();
  pair.peer = 0;
  for (const Buffer& block : call.pairs[0].received) pair.sent.push_back(block);
  for (const ConstBuffer& block : call.pairs[0].sent) pair.received.push_back({nullptr, block.count, block.dtype});
  return ProbeOf(other, /*group=*/0, /*peer=*/0, /*collectives=*/1, /*pair_sequence=*/1);
}

std::string Mismatch(const CommCall& call, const PeerMessage& probe) { return FindMismatch(call, kPeer, probe, 1, 1); }

TEST(PeerMessage, TellsBlocksThatDoNotFit) {
  Exchange exchange;
  PeerMessage probe = AnswerTo(exchange.call);
  EXPECT_EQ(FindFlaw(probe), "");
  EXPECT_EQ(Mismatch(exchange.call, probe), "");
  probe.blocks[2].count = 6;
  EXPECT_EQ(Mismatch(exchange.call, probe), "block 1: 5 i32 sent, 6 i32 received");
  probe.blocks_sent = 2;
  probe.blocks_received = 1;
  EXPECT_EQ(Mismatch(exchange.call, probe), "2 blocks sent, 1 received");
}

TEST(PeerMessage, NamesWhatNoRankSays) {
  const PeerMessage probe = AnswerTo(Exchange().call);
  const auto flaw = [&](auto change) {
    PeerMessage message = probe;
    change(message);
    return FindFlaw(message);
  };
  constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
  EXPECT_EQ(flaw([](PeerMessage& message) { message.blocks_sent = -1; }), "-1 blocks sent and 2 received");
  EXPECT_EQ(flaw([](PeerMessage& message) { message.blocks_received = -kMost; }),
            "1 blocks sent and -2147483647 received");
  EXPECT_EQ(flaw([](PeerMessage& message) { message.blocks[1].count = -5; }), "1 blocks sent and 2 received");
  EXPECT_EQ(flaw([](PeerMessage& message) { message.kind = PeerMessage::Kind{9}; }), "kind 9");
  EXPECT_EQ(flaw([](PeerMessage& message) { message.operation = CommOperation{-3}; }), "operation -3");
  EXPECT_EQ(flaw([](PeerMessage& message) { message.in_dtype = DType{200}; }), "elements of an unknown type");
  EXPECT_EQ(flaw([](PeerMessage& message) { message.kind = PeerMessage::Kind::kAbort; }), "a failure without a code");
  // More blocks than a message lists are not looked at one by one.
  const auto many = [](PeerMessage& message) { message.blocks_sent = message.blocks_received = kMost; };
  EXPECT_EQ(flaw(many), "");
  PeerMessage message = probe;
  many(message);
  EXPECT_EQ(Mismatch(Exchange().call, message), "");
}

// Any one wrong bit is a flaw, a difference between two calls, or changes nothing: never a wild access.
TEST(PeerMessage, EveryWrongBitIsSurvived) {
  Exchange exchange;
  CommCall all_reduce;
  for (const PeerMessage& whole : {AnswerTo(exchange.call), AbortOf(absl::UnavailableError("gone"))}) {
    for (size_t bit = 0; bit < 8 * sizeof(PeerMessage); ++bit) {
      char bytes[sizeof(PeerMessage)];
      std::memcpy(bytes, &whole, sizeof(bytes));
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
      PeerMessage message;
      std::memcpy(static_cast<void*>(&message), bytes, sizeof(bytes));
      if (!FindFlaw(message).empty()) continue;
      if (message.kind == PeerMessage::Kind::kAbort) {
        EXPECT_FALSE(StatusOf(message).ok()) << bit;
        continue;
      }
      Mismatch(exchange.call, message);
      Mismatch(all_reduce, message);
    }
  }
}

}  // namespace
}  // namespace partita
