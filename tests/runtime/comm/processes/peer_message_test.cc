// What a peer says is looked at before it is believed: its bits may be wrong.
#include "runtime/comm/processes/peer_message.h"

#include <gtest/gtest.h>

#include <cstring>

namespace partita {
namespace {

constexpr int kPeer = 1;

// Rank 0's all_to_all with rank 1: sends it 3 elements and receives 7.
struct Exchange : CommCall {
  Exchange() {
    kind = CollectiveKind::kAllToAll;
    counts = {1, 3};
    receive_counts = {1, 7};
    sequence = 4;
  }
};

// What the peer reports while it waits in a matching call.
PeerMessage MatchingProbe() {
  CommCall peer;
  peer.kind = CollectiveKind::kAllToAll;
  peer.rank = kPeer;
  peer.counts = {7, 2};
  peer.receive_counts = {3, 2};
  peer.sequence = 4;
  return ProbeOf(peer, /*group=*/0, /*peer=*/0);
}

TEST(PeerMessage, NamesCallsThatDoNotMatch) {
  const Exchange exchange;
  const auto mismatch = [&](auto change) {
    PeerMessage probe = MatchingProbe();
    change(probe);
    EXPECT_EQ(FindFlaw(probe), "");
    return FindMismatch(exchange, kPeer, probe);
  };
  EXPECT_EQ(mismatch([](PeerMessage&) {}), "");
  EXPECT_EQ(mismatch([](PeerMessage& probe) { probe.to_receiver = 6; }), "one sends what the other does not receive");
  EXPECT_EQ(mismatch([](PeerMessage& probe) { probe.from_receiver = 2; }), "one sends what the other does not receive");
  EXPECT_EQ(mismatch([](PeerMessage& probe) { probe.dtype = DType::kI32; }), "different types");
  EXPECT_EQ(mismatch([](PeerMessage& probe) { probe.operation = CollectiveKind::kReduce; }), "different operations");
  // A peer in an earlier or a later call is only late, or this rank is.
  for (const int64_t sequence : {3, 5}) {
    EXPECT_EQ(mismatch([&](PeerMessage& probe) {
                probe.operation = CollectiveKind::kReduce;
                probe.sequence = sequence;
              }),
              "");
  }
}

TEST(PeerMessage, NamesWhatNoRankSays) {
  const PeerMessage probe = MatchingProbe();
  const auto flaw = [&](auto change) {
    PeerMessage message = probe;
    change(message);
    return FindFlaw(message);
  };
  EXPECT_EQ(flaw([](PeerMessage& message) { message.kind = PeerMessage::Kind{9}; }), "kind 9");
  EXPECT_EQ(flaw([](PeerMessage& message) { message.operation = CollectiveKind{250}; }), "operation 250");
  EXPECT_EQ(flaw([](PeerMessage& message) { message.dtype = DType{200}; }), "elements of an unknown type");
  EXPECT_EQ(flaw([](PeerMessage& message) { message.kind = PeerMessage::Kind::kAbort; }), "a failure without a code");
}

// Any one wrong bit is a flaw, a difference between two calls, or changes nothing: never a wild access.
TEST(PeerMessage, EveryWrongBitIsSurvived) {
  const Exchange exchange;
  CommCall all_reduce, all_gather;
  all_gather.kind = CollectiveKind::kAllGather;
  all_gather.counts = {2, 3};
  all_reduce.sequence = all_gather.sequence = exchange.sequence;
  const CommCall* const calls[] = {&exchange, &all_reduce, &all_gather};
  for (const PeerMessage& whole :
       {MatchingProbe(), ProbeOf(all_gather, 0, 0), AbortOf(absl::UnavailableError("gone"))}) {
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
      for (const CommCall* call : calls) FindMismatch(*call, kPeer, message);
    }
  }
}

}  // namespace
}  // namespace partita
