// Bytes that go through memory come out as they went in, and nobody waits for one that is gone.
#include "runtime/comm/transport/shared_ring.h"

#include <gtest/gtest.h>

#include <algorithm>
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
    const size_t most = random() % 4 == 0 ? 3 * SharedRing::kMostBytes : 1000;
    const size_t count = std::min<size_t>(all.size() - done, random() % most);
    if (!move(std::span(all).subspan(done, count))) return false;
    done += count;
  }
  return true;
}

constexpr uint32_t kAll = SharedRing::kMostBytes;

TEST(SharedRing, KeepsBytesInOrder) {
  for (const uint32_t used : {kAll, kAll / 16}) {
    const auto ring = NewRing();
    std::vector<char> sent = Noise(20 << 20), received(sent.size());
    std::thread writer(
        [&] { EXPECT_TRUE(InPieces(sent, 2, [&](std::span<char> part) { return ring->Write(part, used); })); });
    EXPECT_TRUE(InPieces(received, 3, [&](std::span<char> part) { return ring->Read(part, used); }));
    writer.join();
    EXPECT_EQ(sent, received);
    // What is not used is never touched, so the system gives no memory for it.
    const char* const end = reinterpret_cast<const char*>(ring.get() + 1);
    EXPECT_TRUE(std::all_of(end - (kAll - used), end, [](char byte) { return byte == 0; }));
  }
}

TEST(SharedRing, TheRingsOfARankUseEightMebibytes) {
  EXPECT_EQ(SharedRing::UsedBytes(1), kAll);
  EXPECT_EQ(SharedRing::UsedBytes(2), kAll);
  EXPECT_EQ(SharedRing::UsedBytes(17), kAll);
  EXPECT_EQ(SharedRing::UsedBytes(18), kAll / 2);
  EXPECT_EQ(SharedRing::UsedBytes(64), kAll / 4);
  EXPECT_EQ(SharedRing::UsedBytes(16384), 16u << 10);
}

TEST(SharedRing, TheEndWakesWhoWaits) {
  const auto empty = NewRing(), full = NewRing();
  std::vector<char> more(SharedRing::kMostBytes + 1), byte(1);
  std::thread reader([&] { EXPECT_FALSE(empty->Read(byte, kAll)); });
  std::thread writer([&] { EXPECT_FALSE(full->Write(more, kAll)); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  empty->End();
  full->End();
  reader.join();
  writer.join();
}

TEST(SharedRing, WhatWasWrittenBeforeTheEndIsRead) {
  const auto ring = NewRing();
  std::vector<char> words = {'b', 'y', 'e'}, heard(3);
  EXPECT_TRUE(ring->Write(words, kAll));
  ring->End();
  EXPECT_TRUE(ring->Read(heard, kAll));
  EXPECT_EQ(heard, words);
  EXPECT_FALSE(ring->Read(heard, kAll));
  EXPECT_FALSE(ring->Write(words, kAll));
}

// The other side may have written anything to the counters.
TEST(SharedRing, CountersLeadNowhere) {
  for (const size_t counter : {size_t{0}, size_t{64}}) {  // written, and read
    for (const uint32_t value : {SharedRing::kMostBytes + 1, 0x80000000u}) {
      const auto ring = NewRing();
      std::memcpy(reinterpret_cast<char*>(ring.get()) + counter, &value, sizeof(value));
      std::vector<char> bytes(10);
      EXPECT_FALSE(ring->Read(bytes, kAll)) << counter << " " << value;
      EXPECT_FALSE(ring->Write(bytes, kAll)) << counter << " " << value;
    }
  }
}

}  // namespace
}  // namespace partita
