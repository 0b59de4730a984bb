// Two sides with one key understand each other; nobody else makes anything of what they say, or a part in it.
#include "runtime/admission/tls_session.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <functional>
#include <thread>
#include <vector>

#include "runtime/admission/token.h"
#include "tests/runtime/admission/stranger.h"

namespace partita {
namespace {

using Session = absl::StatusOr<std::unique_ptr<TlsSession>>;
using Side = TlsSession::Side;

std::pair<Socket, Socket> Connected() {
  int both[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, both), 0);
  return {Socket(both[0]), Socket(both[1])};
}

struct Sessions {
  Session connects = nullptr, listens = nullptr;
};

// Somebody who carries what the two say to each other; null: nobody.
using Between = std::function<void(Socket& connects, Socket& listens)>;

Sessions Agree(const std::string& key, const std::string& other_key,
               int64_t records_of_a_key = TlsSession::kRecordsOfAKey, const Between& between = nullptr) {
  const Socket::Time deadline =
      between == nullptr ? Soon() : std::chrono::steady_clock::now() + std::chrono::seconds(1);
  Sessions made;
  auto [connecting, near] = Connected();
  auto [far, listening] = between == nullptr ? std::pair(Socket(), std::move(near)) : Connected();
  std::thread carries([&] {
    if (between != nullptr) between(near, far);
  });
  std::thread connects([&] {
    made.connects = TlsSession::Agree(Side::kConnects, key, connecting, deadline, records_of_a_key);
    if (!made.connects.ok()) connecting = Socket();
  });
  made.listens = TlsSession::Agree(Side::kListens, other_key, listening, deadline, records_of_a_key);
  listening = Socket();
  connects.join();
  connecting = Socket();
  carries.join();
  return made;
}

std::vector<char> Sealed(TlsSession& session, const std::string& text) {
  std::vector<char> sealed;
  EXPECT_TRUE(session.Seal(text, sealed).ok());
  return sealed;
}

absl::StatusOr<std::string> Opened(TlsSession& session, std::span<const char> sealed) {
  std::string text(1 << 20, '\0');
  session.Give(sealed);
  absl::StatusOr<size_t> count = session.Open(text);
  if (!count.ok()) return count.status();
  return text.substr(0, *count);
}

TEST(TlsSession, WhatOneSealsTheOtherOpens) {
  const std::string key = NewNonce();
  const Sessions both = Agree(key, key);
  ASSERT_TRUE(both.connects.ok() && both.listens.ok()) << both.connects.status() << both.listens.status();
  for (const size_t bytes : {size_t{1}, size_t{40}, size_t{16384}, size_t{16385}, size_t{300'000}}) {
    const std::string text(bytes, 'p');
    const std::vector<char> sealed = Sealed(**both.connects, text);
    EXPECT_EQ(*Opened(**both.listens, sealed), text);
    EXPECT_EQ(*Opened(**both.connects, Sealed(**both.listens, text)), text);
    EXPECT_EQ(std::string(sealed.begin(), sealed.begin() + 3), "\x17\x03\x03");  // application data
    EXPECT_EQ(std::string(sealed.begin(), sealed.end()).find("pppp"), std::string::npos);
  }
}

// As the network brings it: in parts, of which none is a record.
TEST(TlsSession, OpensWhatComesByBytes) {
  const std::string key = NewNonce();
  const Sessions both = Agree(key, key);
  ASSERT_TRUE(both.connects.ok() && both.listens.ok());
  std::string opened;
  for (const char* text : {"one", "two"}) {
    for (const char& byte : Sealed(**both.connects, text)) opened += *Opened(**both.listens, {&byte, 1});
  }
  EXPECT_EQ(opened, "onetwo");
}

TEST(TlsSession, AnotherKeyIsNone) {
  const Sessions both = Agree(NewNonce(), NewNonce());
  EXPECT_EQ(both.connects.status().code(), absl::StatusCode::kUnavailable) << both.connects.status();
  EXPECT_EQ(both.listens.status().code(), absl::StatusCode::kUnavailable) << both.listens.status();
}

TEST(TlsSession, WhatIsNoTlsIsRefused) {
  for (const std::string& words : {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(1000, '\0'),
                                   std::string(1000, '\xff'), "\x16\x03\x01\x00\x04" + std::string(1000, '\1')}) {
    for (const Side side : {Side::kConnects, Side::kListens}) {
      auto [near, far] = Connected();
      ASSERT_TRUE(far.Write(words, Soon()).ok());
      shutdown(far.descriptor(), SHUT_WR);
      EXPECT_EQ(TlsSession::Agree(side, NewNonce(), near, Soon()).status().code(), absl::StatusCode::kUnavailable);
    }
  }
}

// Records one way, of which one byte is another when it arrives. Returns the bytes of that record.
size_t Carry(Socket& from, Socket& to, int changed, size_t place) {
  size_t bytes_changed = 0;
  for (int record = 0;; ++record) {
    const absl::StatusOr<std::string> head = from.Read(5, Soon());
    if (!head.ok()) break;
    const size_t bytes = static_cast<unsigned char>((*head)[3]) * 256 + static_cast<unsigned char>((*head)[4]);
    const absl::StatusOr<std::string> body = from.Read(bytes, Soon());
    if (!body.ok()) break;
    std::string whole = *head + *body;
    if (record == changed) {
      bytes_changed = whole.size();
      if (place < whole.size()) whole[place] = static_cast<char>(whole[place] ^ 4);
    }
    if (!to.Write(whole, Soon()).ok()) break;
  }
  shutdown(to.descriptor(), SHUT_WR);
  return bytes_changed;
}

// Whatever byte somebody changes while they agree: they do not, or all the same upon the same.
TEST(TlsSession, WhoStandsBetweenGainsNothing) {
  const std::string key = NewNonce();
  int agreed = 0, tried = 0;
  for (const bool there : {true, false}) {
    for (int record = 0; record < 2; ++record) {
      size_t bytes = 1;
      for (size_t place = 0; place < bytes; place += 7) {
        const Sessions both = Agree(key, key, TlsSession::kRecordsOfAKey, [&](Socket& connects, Socket& listens) {
          size_t of_there = 0, of_back = 0;
          std::thread other([&] { of_there = Carry(connects, listens, there ? record : -1, place); });
          of_back = Carry(listens, connects, there ? -1 : record, place);
          other.join();
          bytes = there ? of_there : of_back;
        });
        ++tried;
        if (!both.connects.ok() || !both.listens.ok()) continue;
        ++agreed;
        EXPECT_EQ(*Opened(**both.listens, Sealed(**both.connects, "here")), "here");
      }
    }
  }
  EXPECT_GT(tried, 50);
  EXPECT_LT(agreed, tried / 5);  // most bytes count
}

TEST(TlsSession, EveryWrongBitIsFound) {
  const std::string key = NewNonce();
  for (size_t bit = 0; bit < 8 * (5 + 20 + 17); bit += 5) {
    const Sessions both = Agree(key, key);
    ASSERT_TRUE(both.connects.ok() && both.listens.ok());
    std::vector<char> sealed = Sealed(**both.connects, std::string(20, 'x'));
    sealed[bit / 8] = static_cast<char>(sealed[bit / 8] ^ (1 << bit % 8));
    EXPECT_EQ(Opened(**both.listens, sealed).value_or(""), "") << bit;
  }
}

TEST(TlsSession, NothingIsHeardTwiceOrOutOfTurn) {
  const std::string key = NewNonce();
  const Sessions both = Agree(key, key);
  ASSERT_TRUE(both.connects.ok() && both.listens.ok());
  const std::vector<char> first = Sealed(**both.connects, "first"), second = Sealed(**both.connects, "second");
  EXPECT_EQ(*Opened(**both.listens, first), "first");
  const absl::Status again = Opened(**both.listens, first).status();
  EXPECT_EQ(again.code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(std::string(again.message()).find("TLS cannot open what came"), std::string::npos) << again;
  EXPECT_FALSE(Opened(**both.listens, second).ok());  // it is over
}

// Long jobs send more than one key may seal.
TEST(TlsSession, KeysComeToAnEnd) {
  const std::string key = NewNonce();
  const Sessions both = Agree(key, key, /*records_of_a_key=*/4);
  ASSERT_TRUE(both.connects.ok() && both.listens.ok());
  for (int i = 0; i < 1000; ++i) {
    const std::string text = std::to_string(i);
    ASSERT_EQ(*Opened(**both.listens, Sealed(**both.connects, text)), text);
    if (i % 3 == 0) {
      ASSERT_EQ(*Opened(**both.connects, Sealed(**both.listens, text)), text);
    }
  }
}

}  // namespace
}  // namespace partita
