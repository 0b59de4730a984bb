// Two links over a stream in memory, whose bytes can be changed on the way.
#include "runtime/comm/transport/peer_link.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <random>

namespace partita {
namespace {

// One way between two links.
struct Pipe {
  void Write(std::span<const char> bytes) {
    std::lock_guard lock(mutex);
    for (const char byte : bytes) {
      const bool is_damaged = written / 8 >= 0 && written == damaged_bit / 8 && damaged_bit >= 0;
      waiting.push_back(is_damaged ? static_cast<char>(byte ^ (1 << damaged_bit % 8)) : byte);
      ++written;
    }
    changed.notify_all();
  }

  bool Read(std::span<char> to) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return ended || waiting.size() >= to.size(); });
    if (waiting.size() < to.size()) return false;
    std::copy_n(waiting.begin(), to.size(), to.begin());
    waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(to.size()));
    return true;
  }

  void End() {
    std::lock_guard lock(mutex);
    ended = true;
    changed.notify_all();
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<char> waiting;
  int64_t written = 0;
  int64_t damaged_bit = -1;
  bool ended = false;
};

class PipeStream : public ByteStream {
 public:
  PipeStream(std::shared_ptr<Pipe> out, std::shared_ptr<Pipe> in) : out_(std::move(out)), in_(std::move(in)) {}
  bool Write(std::span<const char> head, std::span<const char> body) override {
    out_->Write(head);
    out_->Write(body);
    return true;
  }
  bool Read(std::span<char> to) override { return in_->Read(to); }
  void Close() override {
    out_->End();
    in_->End();
  }

 private:
  const std::shared_ptr<Pipe> out_, in_;
};

class PeerLinkTest : public testing::Test {
 protected:
  void SetUp() override {
    for (int side = 0; side < 2; ++side) {
      auto stream = std::make_unique<PipeStream>(pipes_[side], pipes_[1 - side]);
      links_[side] =
          std::make_unique<PeerLink>(std::move(stream), side == 0 ? ConnectionSeeds{5, 6} : ConnectionSeeds{6, 5});
    }
  }

  void Start() {
    for (int side = 0; side < 2; ++side) {
      links_[side]->Start({[this](std::span<const char> message) {
                             heard_.assign(message.begin(), message.end());
                             return true;
                           },
                           [this, side](const std::string& flaw) {
                             flaws_[side] = flaw;
                             links_[side]->Close();
                           }});
    }
  }

  void Stop() {
    for (const auto& link : links_) link->Stop();
  }

  std::shared_ptr<Pipe> pipes_[2] = {std::make_shared<Pipe>(), std::make_shared<Pipe>()};
  std::unique_ptr<PeerLink> links_[2];
  std::string heard_, flaws_[2];
};

std::vector<char> Noise(size_t bytes, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<char> noise(bytes);
  for (char& byte : noise) byte = static_cast<char>(random());
  return noise;
}

// Sizes around every bound, posted in orders in which some come before their receiver and some after.
TEST_F(PeerLinkTest, BlocksComeWhereTheyBelong) {
  Start();
  const int64_t small = Slots::kSmallBytes;
  const std::vector<int64_t> sizes = {1, 63, small - 1, small, small + 1, kMostFrameBytes, kMostFrameBytes + 1, 999999};
  for (const bool early : {false, true}) {
    for (int order = 0; order < 8; ++order) {
      std::deque<Passage> sends, receives;
      std::vector<std::vector<char>> sent, received;
      for (size_t b = 0; b < sizes.size(); ++b) {
        sent.push_back(Noise(static_cast<size_t>(sizes[b]), static_cast<unsigned>(b)));
        received.emplace_back(sent.back().size());
      }
      for (size_t b = 0; b < sizes.size(); ++b) {
        sends.emplace_back(1, sent[b].data(), sizes[b], early);
        receives.emplace_back(0, received[b].data(), sizes[b], early);
      }
      const auto slot = [&](size_t b) { return 1 + b + 100 * static_cast<uint64_t>(order + (early ? 8 : 0)); };
      for (size_t b = 0; b < sizes.size(); ++b) {
        const size_t other = sizes.size() - 1 - b;
        if (order & 1) links_[1]->Receive(receives[b], slot(b));
        links_[0]->Send(sends[order & 2 ? b : other], slot(order & 2 ? b : other));
        if (!(order & 1)) links_[1]->Receive(receives[order & 4 ? b : other], slot(order & 4 ? b : other));
      }
      for (Passage& passage : sends) ASSERT_TRUE(passage.Await());
      for (Passage& passage : receives) ASSERT_TRUE(passage.Await());
      EXPECT_EQ(sent, received);
    }
  }
  Stop();
}

// More small blocks than are kept, none of which is received before all are posted.
TEST_F(PeerLinkTest, WhatIsNotKeptIsAskedFor) {
  Start();
  std::vector<std::vector<char>> sent, received;
  std::deque<Passage> sends, receives;
  for (unsigned b = 0; b < 100; ++b) {
    sent.push_back(Noise(static_cast<size_t>(Slots::kSmallBytes), b));
    received.emplace_back(sent.back().size());
  }
  for (size_t b = 0; b < sent.size(); ++b) {
    sends.emplace_back(1, sent[b].data(), Slots::kSmallBytes, true);
    receives.emplace_back(0, received[b].data(), Slots::kSmallBytes, true);
    links_[0]->Send(sends[b], b);
  }
  for (size_t b = 0; b < sent.size(); ++b) links_[1]->Receive(receives[b], b);
  for (Passage& passage : receives) ASSERT_TRUE(passage.Await());
  for (Passage& passage : sends) ASSERT_TRUE(passage.Await());
  EXPECT_EQ(sent, received);
  Stop();
}

TEST_F(PeerLinkTest, MessagesAreHeard) {
  Start();
  links_[0]->Say(std::string("still here"));
  links_[0]->Flush(std::chrono::seconds(10));
  std::vector<char> block(3);
  Passage send(1, block.data(), 3, true), receive(0, block.data(), 3, true);
  links_[0]->Send(send, 1);
  links_[1]->Receive(receive, 1);
  EXPECT_TRUE(receive.Await());  // it comes behind the message
  Stop();
  EXPECT_EQ(heard_, "still here");
}

TEST_F(PeerLinkTest, TheEndEndsEveryWait) {
  Start();
  std::vector<char> block(static_cast<size_t>(Slots::kSmallBytes) + 1);
  Passage send(1, block.data(), Slots::kSmallBytes + 1, false), receive(0, block.data(), 3, true);
  links_[0]->Send(send, 1);
  links_[1]->Receive(receive, 2);
  links_[0]->Close();
  EXPECT_FALSE(send.Await());
  EXPECT_FALSE(receive.Await());  // the other side has heard of it
  links_[0]->Send(send, 3);
  EXPECT_FALSE(send.Await());
  Stop();
  EXPECT_EQ(flaws_[1], "");
}

// Whatever bit is wrong: never a wrong byte in a block that is said to have come.
TEST_F(PeerLinkTest, EveryWrongBitIsFound) {
  const std::vector<char> sent = Noise(200, 1);
  const int64_t bits = 8 * static_cast<int64_t>(sizeof(FrameHeader) + sent.size());
  for (int64_t bit = 0; bit < bits; bit += 3) {
    for (auto& pipe : pipes_) pipe = std::make_shared<Pipe>();
    pipes_[0]->damaged_bit = bit;
    SetUp();
    Start();
    std::vector<char> received(sent.size());
    Passage send(1, const_cast<char*>(sent.data()), 200, true), receive(0, received.data(), 200, true);
    links_[1]->Receive(receive, 1);
    links_[0]->Send(send, 1);
    EXPECT_FALSE(receive.Await()) << bit;
    Stop();
    EXPECT_EQ(flaws_[1], "a checksum differs") << bit;
  }
}

}  // namespace
}  // namespace partita
