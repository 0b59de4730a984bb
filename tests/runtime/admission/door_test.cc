// Who knows the token comes in, whatever strangers do meanwhile; who does not is sent away and costs little.
#include "runtime/admission/door.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <filesystem>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/admission/token.h"
#include "tests/runtime/admission/stranger.h"

namespace partita {
namespace {

using std::chrono::milliseconds;

constexpr int kRanks = 4;
constexpr size_t kStrangers = 16;

int64_t OpenDescriptors() {
  const std::filesystem::directory_iterator entries("/proc/self/fd");
  return std::distance(begin(entries), end(entries));
}

class DoorTest : public testing::Test {
 protected:
  void SetUp() override { Open(milliseconds(300)); }

  void Open(milliseconds handshake) {
    door_ = *Door::Open({"127.0.0.1", 0}, IdentityOf(0), {kStrangers, handshake}, [this](Guest guest) {
      std::lock_guard lock(mutex_);
      guests_.push_back(std::move(guest));
      changed_.notify_all();
    });
  }

  Identity IdentityOf(int rank) const { return {"the job's own token", world_, rank, kRanks, rank + 1}; }

  // A rank's knock, with something changed of what it knows.
  absl::StatusOr<ConnectionSeeds> Knock(const Identity& identity, int to = 0) {
    Stranger stranger(door_->endpoint());
    return IntroduceTo(to, stranger.socket(), identity, Soon());
  }

  bool Comes(int rank) {
    const absl::StatusOr<ConnectionSeeds> seeds = Knock(IdentityOf(rank));
    std::unique_lock lock(mutex_);
    const auto is_here = [&] { return !guests_.empty() && guests_.back().rank == rank; };
    return seeds.ok() && changed_.wait_until(lock, Soon(), is_here) && seeds->sent == guests_.back().seeds.received &&
           seeds->received == guests_.back().seeds.sent;
  }

  const std::string world_ = NewNonce();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Guest> guests_;
  std::unique_ptr<Door> door_;
};

TEST_F(DoorTest, LetsRanksIn) {
  EXPECT_TRUE(Comes(1));
  EXPECT_TRUE(Comes(3));
  EXPECT_EQ(door_->refused(), 0);
  EXPECT_NE(guests_[0].seeds.sent, guests_[1].seeds.sent);
}

TEST_F(DoorTest, RefusesWhoKnowsOnlyAPart) {
  Identity token = IdentityOf(1), world = IdentityOf(1), ranks = IdentityOf(1);
  token.token = "another job's token";
  world.world = NewNonce();
  ranks.ranks = kRanks + 1;
  EXPECT_EQ(Knock(token).status().code(), absl::StatusCode::kInvalidArgument);
  for (const Identity& wrong : {world, ranks, IdentityOf(0), IdentityOf(kRanks)}) EXPECT_FALSE(Knock(wrong).ok());
  EXPECT_FALSE(Knock(IdentityOf(2), /*to=*/1).ok());
  EXPECT_TRUE(guests_.empty());
  EXPECT_TRUE(Comes(1));
}

TEST_F(DoorTest, TellsWhoDoesNotAgreeOnTls) {
  Identity other = IdentityOf(1);
  other.tls = true;
  const absl::Status told = Knock(other).status();
  EXPECT_EQ(told.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(told.message(), "ranks do not agree on TLS: rank 1 has it, rank 0 has not");
  std::unique_lock lock(mutex_);
  EXPECT_TRUE(changed_.wait_until(lock, Soon(), [&] { return !guests_.empty(); }));
  EXPECT_EQ(guests_.front().rank, 1);
  EXPECT_FALSE(guests_.front().socket.valid());
}

// Somebody between the two who would like them to do without it: who listens has it as little as the other is said to.
TEST_F(DoorTest, NobodyBetweenTwoRanksTakesTlsAway) {
  Identity with = IdentityOf(1);
  with.tls = true;
  Endpoint between_endpoint{"127.0.0.1", 0};
  const Socket between = *ListenAt(between_endpoint);
  std::thread relay([&] {
    Socket near;
    while (!near.valid()) near = AcceptFrom(between);
    Stranger far(door_->endpoint());
    std::string hello = *near.Read(24 + 2 * kNonceBytes, Soon());
    EXPECT_EQ(hello[20], 1);
    hello[20] = 0;
    EXPECT_TRUE(far.socket().Write(hello, Soon()).ok());
    EXPECT_TRUE(near.Write(*far.socket().Read(kNonceBytes, Soon()), Soon()).ok());
    EXPECT_TRUE(far.socket().Write(*near.Read(kProofBytes, Soon()), Soon()).ok());
    EXPECT_TRUE(near.Write(*far.socket().Read(kProofBytes, Soon()), Soon()).ok());
  });
  Stranger rank(between_endpoint);
  EXPECT_EQ(IntroduceTo(0, rank.socket(), with, Soon()).status().code(), absl::StatusCode::kInvalidArgument);
  relay.join();
  std::lock_guard lock(mutex_);
  EXPECT_TRUE(guests_.empty());
}

// All that went over one connection that was let in, once more.
TEST_F(DoorTest, NothingHeardOnceOpensItAgain) {
  const Endpoint endpoint = door_->endpoint();
  Endpoint between_endpoint{"127.0.0.1", 0};
  const Socket between = *ListenAt(between_endpoint);
  std::string said;
  std::thread relay([&] {
    Socket near;
    while (!near.valid()) near = AcceptFrom(between);
    Stranger far(endpoint);
    for (const auto& [to_door, bytes] : {std::pair(true, size_t{24 + 2 * kNonceBytes}),
                                         {false, kNonceBytes},
                                         {true, kProofBytes},
                                         {false, kProofBytes}}) {
      const std::string words = *(to_door ? near : far.socket()).Read(bytes, Soon());
      EXPECT_TRUE((to_door ? far.socket() : near).Write(words, Soon()).ok());
      if (to_door) said += words;
    }
  });
  Stranger rank(between_endpoint);
  EXPECT_TRUE(IntroduceTo(0, rank.socket(), IdentityOf(1), Soon()).ok());
  relay.join();
  Stranger replay(endpoint, said);
  EXPECT_TRUE(replay.IsSentAway());
  std::lock_guard lock(mutex_);
  EXPECT_EQ(guests_.size(), 1u);
}

TEST_F(DoorTest, EndsWhatIsNoHandshake) {
  EXPECT_TRUE(Stranger(door_->endpoint(), "GET / HTTP/1.1\r\n\r\n").IsSentAway());
  EXPECT_TRUE(Stranger(door_->endpoint(), std::string(1 << 16, '\0')).IsSentAway());
  EXPECT_TRUE(Stranger(door_->endpoint(), NewNonce() + NewNonce() + NewNonce()).IsSentAway());
  EXPECT_TRUE(Stranger(door_->endpoint(), std::string(1, 'P')).IsSentAway());
  EXPECT_TRUE(Stranger(door_->endpoint()).IsSentAway());  // says nothing: its time is over at some time
}

// Nobody's time is over in this one: strangers that say nothing would stay.
TEST_F(DoorTest, AFloodKeepsNoRankOut) {
  Open(std::chrono::minutes(10));
  const int64_t before = OpenDescriptors();
  std::list<Stranger> flood;
  for (int i = 0; i < 300; ++i) {
    flood.emplace_back(door_->endpoint(), i % 3 == 0 ? NewNonce() : "");
    if (i % 100 == 50) {
      EXPECT_TRUE(Comes(1 + i / 100));
    }
  }
  EXPECT_EQ(guests_.size(), 3u);
  const auto all_but_some = static_cast<int64_t>(flood.size() - kStrangers);
  for (const auto end = Soon(); door_->refused() < all_but_some && std::chrono::steady_clock::now() < end;) {
    std::this_thread::sleep_for(milliseconds(5));
  }
  EXPECT_GE(door_->refused(), all_but_some);
  const int64_t of_the_door = OpenDescriptors() - before - static_cast<int64_t>(flood.size());
  EXPECT_LE(of_the_door, static_cast<int64_t>(kStrangers + guests_.size()) + 2);
}

}  // namespace
}  // namespace partita
