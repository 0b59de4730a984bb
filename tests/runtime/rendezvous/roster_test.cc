// Who has come, who is missing, who is lost: with a clock of the test's own.
#include "runtime/rendezvous/roster.h"

#include <gtest/gtest.h>

namespace partita {
namespace {

using rendezvous::ToServer;
using std::chrono::milliseconds;

constexpr Roster::Time kStart{};

ToServer Barrier(int milliseconds) {
  ToServer message;
  message.mutable_barrier()->set_name("b");
  message.mutable_barrier()->set_timeout_milliseconds(milliseconds);
  return message;
}

std::vector<int> Missing(const Roster::Letter& letter) {
  const auto& missing = letter.message.barrier_end().missing();
  return {missing.begin(), missing.end()};
}

class RosterTest : public testing::Test {
 protected:
  void JoinAll() {
    for (int rank = 0; rank < 3; ++rank) ASSERT_EQ(roster_.Join(rank, 3, kStart), "");
  }
  void Say(int rank, const ToServer& message, Roster::Time time = kStart) {
    roster_.Receive(rank, message, time, letters_);
  }

  Roster roster_{3, milliseconds(1000)};
  Roster::Letters letters_;
};

TEST_F(RosterTest, RefusesWhoDoesNotBelong) {
  JoinAll();
  EXPECT_EQ(roster_.Join(1, 3, kStart), "there is a rank 1 already");
  EXPECT_EQ(roster_.Join(3, 3, kStart), "rank 3 is none of 0..2");
  EXPECT_EQ(roster_.Join(-1, 3, kStart), "rank -1 is none of 0..2");
  EXPECT_EQ(roster_.Join(1, 4, kStart), "rank 1 says that the job has 4 ranks, it has 3");
}

TEST_F(RosterTest, ARankThatWasLostDoesNotComeBack) {
  JoinAll();
  EXPECT_FALSE(roster_.IsStartedAgain(1));
  roster_.End(1, letters_);
  EXPECT_EQ(roster_.Join(1, 3, kStart), "there is a rank 1 already");
  EXPECT_TRUE(roster_.IsStartedAgain(1));
  EXPECT_FALSE(roster_.IsStartedAgain(3));
}

TEST_F(RosterTest, ADisagreementEndsAJobThatHasNotBegunWithThatRank) {
  ASSERT_EQ(roster_.Join(0, 3, kStart), "");
  for (const int rank : {0, 3, -1}) roster_.Disagree(rank, "why", letters_);
  EXPECT_TRUE(letters_.empty());
  roster_.Disagree(1, "why", letters_);
  ASSERT_EQ(letters_.size(), 1u);
  EXPECT_EQ(letters_[0].rank, 0);
  EXPECT_EQ(letters_[0].message.failure().message(), "why");
  EXPECT_EQ(roster_.Join(2, 3, kStart), "why");
}

TEST_F(RosterTest, ABarrierOpensForAllAtOnce) {
  JoinAll();
  Say(2, Barrier(500));
  Say(0, Barrier(500));
  EXPECT_TRUE(letters_.empty());
  Say(1, Barrier(500));
  ASSERT_EQ(letters_.size(), 3u);
  for (const Roster::Letter& letter : letters_) EXPECT_TRUE(Missing(letter).empty());
}

TEST_F(RosterTest, ABarrierNamesTheMissingWhenItsTimeIsOver) {
  JoinAll();
  Say(1, Barrier(500));
  roster_.Tick(kStart + milliseconds(499), letters_);
  EXPECT_TRUE(letters_.empty());
  roster_.Tick(kStart + milliseconds(500), letters_);
  ASSERT_EQ(letters_.size(), 1u);
  EXPECT_EQ(letters_[0].rank, 1);
  EXPECT_EQ(Missing(letters_[0]), (std::vector{0, 2}));
}

TEST_F(RosterTest, ABarrierDoesNotWaitForWhoHasLeft) {
  JoinAll();
  ToServer leave;
  leave.mutable_leave();
  Say(1, Barrier(500));
  Say(2, leave);
  EXPECT_TRUE(letters_.empty());
  roster_.End(2, letters_);
  ASSERT_EQ(letters_.size(), 1u);
  EXPECT_EQ(Missing(letters_[0]), (std::vector{0, 2}));
  Say(0, Barrier(500));
  ASSERT_EQ(letters_.size(), 2u);
  EXPECT_EQ(letters_[1].rank, 0);
}

TEST_F(RosterTest, AValueReachesWhoAskedBeforeAndWhoAsksAfter) {
  JoinAll();
  ToServer get, set;
  get.mutable_get()->set_key("k");
  set.mutable_set()->set_key("k");
  set.mutable_set()->set_value("v");
  Say(2, get);
  EXPECT_TRUE(letters_.empty());
  Say(0, set);
  Say(1, get);
  ASSERT_EQ(letters_.size(), 2u);
  EXPECT_EQ(letters_[0].rank, 2);
  EXPECT_EQ(letters_[1].rank, 1);
  for (const Roster::Letter& letter : letters_) EXPECT_EQ(letter.message.value().value(), "v");
}

// Rank 0, with which the server goes, is told last.
TEST_F(RosterTest, TheEndOfARankIsToldToAllOthersOnce) {
  JoinAll();
  roster_.End(1, letters_);
  roster_.End(2, letters_);
  ASSERT_EQ(letters_.size(), 2u);
  EXPECT_EQ(letters_[0].rank, 2);
  EXPECT_EQ(letters_[1].rank, 0);
  EXPECT_EQ(letters_[0].message.failure().message(), "rank 1 is gone: its control stream ended");
  EXPECT_EQ(letters_[0].message.failure().code(), static_cast<int>(absl::StatusCode::kUnavailable));
}

TEST_F(RosterTest, WhoIsSilentIsLost) {
  JoinAll();
  ToServer heartbeat;
  heartbeat.mutable_heartbeat();
  for (const int rank : {0, 2}) Say(rank, heartbeat, kStart + milliseconds(600));
  letters_.clear();
  EXPECT_TRUE(roster_.Tick(kStart + milliseconds(1000), letters_).empty());
  EXPECT_EQ(roster_.Tick(kStart + milliseconds(1001), letters_), std::vector{1});
  ASSERT_EQ(letters_.size(), 2u);
  EXPECT_EQ(letters_[0].message.failure().message(), "rank 1 has been silent for 1000 ms");
  EXPECT_TRUE(roster_.Tick(kStart + milliseconds(1100), letters_).empty());
}

}  // namespace
}  // namespace partita
