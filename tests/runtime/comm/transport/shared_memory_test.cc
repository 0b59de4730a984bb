// Two sides of a connection come to memory of both, or both know that there is none.
#include "runtime/comm/transport/shared_memory.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <thread>
#include <vector>

#include "tests/runtime/admission/stranger.h"

namespace partita {
namespace {

using Memory = absl::StatusOr<std::unique_ptr<SharedMemory>>;

class SharedMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    int both[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, both), 0);
    maker_ = Socket(both[0]);
    other_ = Socket(both[1]);
  }

  void Meet(bool maker_wants, bool other_wants) {
    std::thread maker([&] { made_ = OfferSharedMemory(maker_, maker_wants, Soon()); });
    found_ = AcceptSharedMemory(other_, other_wants, Soon());
    maker.join();
    ASSERT_TRUE(made_.ok() && found_.ok());
  }

  Socket maker_, other_;
  Memory made_ = nullptr, found_ = nullptr;
};

TEST_F(SharedMemoryTest, BothHaveTheSame) {
  Meet(true, true);
  ASSERT_NE(*made_, nullptr);
  ASSERT_NE(*found_, nullptr);
  std::vector<char> there = {1, 2, 3}, back = {4, 5}, heard_there(3), heard_back(2);
  EXPECT_TRUE((*found_)->to_maker().Write(there, SharedRing::kMostBytes));
  EXPECT_TRUE((*made_)->from_maker().Write(back, SharedRing::kMostBytes));
  EXPECT_TRUE((*made_)->to_maker().Read(heard_there, SharedRing::kMostBytes));
  EXPECT_TRUE((*found_)->from_maker().Read(heard_back, SharedRing::kMostBytes));
  EXPECT_EQ(there, heard_there);
  EXPECT_EQ(back, heard_back);
}

TEST_F(SharedMemoryTest, OneThatDoesNotWantItIsEnough) {
  for (const auto& [maker, other] : {std::pair(true, false), {false, true}, {false, false}}) {
    Meet(maker, other);
    EXPECT_EQ(*made_, nullptr);
    EXPECT_EQ(*found_, nullptr);
  }
}

// A descriptor of this process that is no such memory; and a process that does not exist.
TEST_F(SharedMemoryTest, WhatIsNotThereIsNotTaken) {
  for (const auto& [process, descriptor] : {std::pair<int32_t, int32_t>{getpid(), 0}, {0x7ffffff0, 3}}) {
    std::string offer(8 + 32, '\0');
    std::memcpy(offer.data(), &process, 4);
    std::memcpy(offer.data() + 4, &descriptor, 4);
    ASSERT_TRUE(maker_.Write(offer, Soon()).ok());
    found_ = AcceptSharedMemory(other_, true, Soon());
    ASSERT_TRUE(found_.ok());
    EXPECT_EQ(*found_, nullptr);
    EXPECT_EQ(*maker_.Read(1, Soon()), "0");
  }
}

}  // namespace
}  // namespace partita
