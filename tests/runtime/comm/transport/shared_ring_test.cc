// Bytes that go through memory come out as they went in, and nobody waits for one that is gone.
#include "runtime/comm/transport/shared_ring.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace partita {
namespace {

// As mapped memory is: all zero.
std::unique_ptr<SharedRing> NewRing() { return std::make_unique<SharedRing>(); }

std::vector<char> Noise(size_t bytes) {
  std::mt19937 random(1);
  std::vector<char> noise(bytes);
  for (char& byte : noise) byte = static_cast<char>(random());
  return noise;
}

// Calls `move` with pieces of `all` of random sizes, some of them larger than the ring, until one fails.
template <typename Move>
bool InPieces(std::vector<char>& all, unsigned seed, const Move& move) {
  std::mt19937 random(seed);
  for (size_t done = 0; done < all.size();) {
    const size_t most = random() % 4 == 0 ? 3 * SharedRing::kBytes : 1000;
    const size_t count = std::min<size_t>(all.size() - done, random() % most);
    if (!move(std::span(all).subspan(done, count))) return false;
    done += count;
  }
  return true;
}

TEST(SharedRing, KeepsBytesInOrder) {
  const auto ring = NewRing();
  std::vector<char> sent = Noise(20 << 20), received(sent.size());
  std::thread writer([&] { EXPECT_TRUE(InPieces(sent, 2, [&](std::span<char> part) { return ring->Write(part); })); });
  EXPECT_TRUE(InPieces(received, 3, [&](std::span<char> part) { return ring->Read(part); }));
  writer.join();
  EXPECT_EQ(sent, received);
}

TEST(SharedRing, TheEndWakesWhoWaits) {
  const auto empty = NewRing(), full = NewRing();
  std::vector<char> more(SharedRing::kBytes + 1), byte(1);
  std::thread reader([&] { EXPECT_FALSE(empty->Read(byte)); });
  std::thread writer([&] { EXPECT_FALSE(full->Write(more)); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  empty->End();
  full->End();
  reader.join();
  writer.join();
}

TEST(SharedRing, WhatWasWrittenBeforeTheEndIsRead) {
  const auto ring = NewRing();
  std::vector<char> words = {'b', 'y', 'e'}, heard(3);
  EXPECT_TRUE(ring->Write(words));
  ring->End();
  EXPECT_TRUE(ring->Read(heard));
  EXPECT_EQ(heard, words);
  EXPECT_FALSE(ring->Read(heard));
  EXPECT_FALSE(ring->Write(words));
}

// The other side may have written anything to the counters.
TEST(SharedRing, CountersLeadNowhere) {
  for (const size_t counter : {size_t{0}, size_t{64}}) {  // written, and read
    for (const uint32_t value : {SharedRing::kBytes + 1, 0x80000000u}) {
      const auto ring = NewRing();
      std::memcpy(reinterpret_cast<char*>(ring.get()) + counter, &value, sizeof(value));
      std::vector<char> bytes(10);
      EXPECT_FALSE(ring->Read(bytes)) << counter << " " << value;
      EXPECT_FALSE(ring->Write(bytes)) << counter << " " << value;
    }
  }
}

}  // namespace
}  // namespace partita
