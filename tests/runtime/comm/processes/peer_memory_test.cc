// Ranks on one host that find out whether they can map each other's memory. What they do with it is in
// tests/conformance (ranks of `shared_memory`).
#include "runtime/comm/processes/peer_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <thread>

#include "runtime/comm/memory_store.h"

namespace partita {
namespace {

using std::chrono::milliseconds;
using Memories = std::vector<absl::StatusOr<std::unique_ptr<PeerMemory>>>;

// What ranks say may come changed to the others.
class ForgingStore : public MemoryStore {
 public:
  absl::Status Set(const std::string& key, const std::string& value) override {
    return MemoryStore::Set(key, forge ? forge(key, value) : value);
  }
  std::function<std::string(const std::string& key, std::string value)> forge;
};

class PeerMemoryTest : public testing::Test {
 protected:
  // Three ranks, which are threads here; `silent` does not let itself be read.
  Memories Meet(int silent = -1) {
    Memories memories(3);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < 3; ++rank) {
      threads.emplace_back(
          [&, rank] { memories[rank] = PeerMemory::Meet(rank, 3, store_, rank != silent, std::chrono::seconds(10)); });
    }
    for (std::thread& thread : threads) thread.join();
    return memories;
  }

  // Rank 1 is read by nobody: all say so, whichever ranks they are.
  static void ExpectNobodyReadsRank1(const Memories& memories) {
    for (const auto& memory : memories) {
      ASSERT_TRUE(memory.ok()) << memory.status();
      EXPECT_FALSE((*memory)->Connects(std::vector{0, 1, 2}));
      EXPECT_FALSE((*memory)->Connects(std::vector{1, 0}));
      EXPECT_TRUE((*memory)->Connects(std::vector{2, 0}));
    }
    EXPECT_EQ((*memories[0])->process(1), 0);
    EXPECT_EQ((*memories[0])->process(2), getpid());
  }

  ForgingStore store_;
};

TEST_F(PeerMemoryTest, AllReadEachOther) {
  const Memories memories = Meet();
  for (const auto& memory : memories) EXPECT_TRUE((*memory)->Connects(std::vector{2, 0, 1}));
  for (const int other : {0, 1}) EXPECT_EQ((*memories[2])->process(other), getpid());
}

TEST_F(PeerMemoryTest, OneDoesNotWant) { ExpectNobodyReadsRank1(Meet(1)); }

// As one of another process namespace may be, whose number means another process here.
TEST_F(PeerMemoryTest, OneIsNotTheProcessThatItNames) {
  store_.forge = [](const std::string& key, std::string value) {
    if (key == "memory/1") value[32] = static_cast<char>(value[32] ^ 1);  // of its proof
    return value;
  };
  ExpectNobodyReadsRank1(Meet());
}

TEST_F(PeerMemoryTest, OneIsInAnotherNetwork) {
  store_.forge = [](const std::string& key, std::string value) {
    if (key == "memory/1") value[value.find("net:[") + 5] = 'x';
    return value;
  };
  ExpectNobodyReadsRank1(Meet());
}

TEST_F(PeerMemoryTest, OneTalksNonsense) {
  store_.forge = [](const std::string& key, std::string value) { return key == "memory/1" ? "nonsense" : value; };
  ExpectNobodyReadsRank1(Meet());
}

TEST_F(PeerMemoryTest, OneSaysOfTooFewWhetherItReadsThem) {
  store_.forge = [](const std::string& key, std::string value) { return key == "memory/1/reads" ? "1" : value; };
  for (const auto& memory : Meet()) EXPECT_EQ(memory.status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(PeerMemoryTest, OneDoesNotCome) {
  EXPECT_EQ(PeerMemory::Meet(0, 2, store_, true, milliseconds(20)).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(PeerMemory::Meet(0, 1, store_, true, milliseconds(20)).ok());
}

}  // namespace
}  // namespace partita
