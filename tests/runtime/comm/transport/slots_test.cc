// When a block may go, and what a peer cannot make a rank do.
#include "runtime/comm/transport/slots.h"

#include <gtest/gtest.h>

#include <deque>

namespace partita {
namespace {

using Sending = Slots::Sending;
using Receiving = Slots::Receiving;

// Two ranks of which each word reaches the other at once.
class SlotsTest : public testing::Test {
 protected:
  // Slots are given by Begin, which a link does; here they are all different blocks of one size.
  Passage& NewPassage(int64_t bytes, bool early = true) {
    return passages_.emplace_back(1, memory_.data(), bytes, early);
  }

  std::vector<char> memory_ = std::vector<char>(Slots::kSmallBytes + 1);
  std::deque<Passage> passages_;
  Slots near_, far_;
  std::vector<char> kept_;
};

TEST_F(SlotsTest, ALargeBlockWaitsUntilItIsWanted) {
  Passage& sent = NewPassage(Slots::kSmallBytes + 1);
  Passage& received = NewPassage(Slots::kSmallBytes + 1);
  EXPECT_EQ(near_.Send(sent), Sending::kLater);
  EXPECT_EQ(*far_.Receive(received, kept_), Receiving::kWant);
  EXPECT_EQ(*near_.OnWant(0), &sent);
  EXPECT_EQ(*far_.OnBlock(0, 0, Slots::kSmallBytes, false), &received);
  EXPECT_FALSE(far_.Arrived(received, Slots::kSmallBytes, false));
  EXPECT_EQ(*far_.OnBlock(0, Slots::kSmallBytes, 1, false), &received);
  EXPECT_TRUE(far_.Arrived(received, 1, false));
}

TEST_F(SlotsTest, ASmallBlockGoesAtOnceAndIsKept) {
  EXPECT_EQ(near_.Send(NewPassage(3)), Sending::kNow);
  EXPECT_EQ(*far_.OnBlock(0, 0, 3, true), nullptr);
  far_.Keep(0, {1, 2, 3});
  EXPECT_EQ(*far_.Receive(NewPassage(3), kept_), Receiving::kHere);
  EXPECT_EQ(kept_, (std::vector<char>{1, 2, 3}));
}

TEST_F(SlotsTest, ASmallBlockThatMayNotGoEarlyWaits) {
  EXPECT_EQ(near_.Send(NewPassage(3, false)), Sending::kLater);
  EXPECT_EQ(*far_.Receive(NewPassage(3, false), kept_), Receiving::kWant);
}

// What nobody takes is offered once the bound is reached; what has been taken makes room again.
TEST_F(SlotsTest, NoMoreThanABoundIsKept) {
  int64_t sent = 0;
  while (near_.Send(NewPassage(Slots::kSmallBytes)) == Sending::kNow) ++sent;
  EXPECT_LE(sent * Slots::kSmallBytes, Slots::kEarlyBytes);
  EXPECT_GE((sent + 2) * Slots::kSmallBytes, Slots::kEarlyBytes);
  EXPECT_FALSE(*far_.OnOffer(0));
  EXPECT_EQ(*far_.Receive(NewPassage(Slots::kSmallBytes), kept_), Receiving::kWant);
  EXPECT_TRUE(*far_.OnOffer(0));
  EXPECT_TRUE(near_.OnCredit(Slots::kEarlyBytes / 2).ok());
  EXPECT_NE(*near_.OnWant(0), nullptr);
  EXPECT_EQ(near_.Send(NewPassage(Slots::kSmallBytes)), Sending::kNow);
}

TEST_F(SlotsTest, CreditIsToldInLargeSums) {
  int64_t told = 0;
  Passage& received = NewPassage(100);
  for (int block = 0; block < 10000; ++block) {
    ASSERT_EQ(*far_.Receive(received, kept_), Receiving::kLater);
    ASSERT_EQ(*far_.OnBlock(0, 0, 100, true), &received);
    ASSERT_TRUE(far_.Arrived(received, 100, true));
    received.~Passage();
    new (&received) Passage(1, memory_.data(), 100, true);
    told += far_.TakeCredit() > 0 ? 1 : 0;
  }
  EXPECT_GT(told, 1);
  EXPECT_LT(told, 20);
}

TEST_F(SlotsTest, WhatNoRankDoesIsAnError) {
  EXPECT_FALSE(near_.OnCredit(1).ok()) << "of what was never sent";
  EXPECT_FALSE(near_.OnBlock(7, 0, 3, false).ok()) << "that nobody wants";
  EXPECT_FALSE(near_.OnBlock(7, 0, Slots::kSmallBytes + 1, true).ok()) << "too large to be kept";
  ASSERT_EQ(*near_.Receive(NewPassage(8), kept_), Receiving::kLater);
  for (const auto& [offset, bytes] : {std::pair<uint64_t, int64_t>{0, 9}, {1, 7}, {0, 0}, {~uint64_t{0}, 8}, {8, 1}}) {
    EXPECT_FALSE(near_.OnBlock(0, offset, bytes, false).ok()) << bytes << " bytes at " << offset;
  }
  EXPECT_FALSE(near_.OnBlock(0, 0, 4, true).ok()) << "an early block is whole";
  int64_t kept = 0;
  for (uint64_t slot = 1; near_.OnBlock(slot, 0, Slots::kSmallBytes, true).ok(); ++slot) {
    near_.Keep(slot, std::vector<char>(Slots::kSmallBytes));
    ASSERT_LE(kept += Slots::kSmallBytes, Slots::kEarlyBytes);
  }
}

}  // namespace
}  // namespace partita
