// An all_reduce whose elements are read from where they lie: in arenas that ranks map, and nowhere else.
#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "runtime/comm/memory_store.h"
#include "runtime/comm/processes/process_world.h"
#include "runtime/device/host/host_device.h"

namespace partita {
namespace {

constexpr int kRanks = 3;
constexpr int64_t kElements = 2'500'003;  // several parts for each rank, and more than fit a cache

class ReadReductionTest : public testing::Test {
 protected:
  // Ranks are threads here.
  ReadReductionTest() {
    MemoryStore store;
    std::vector<std::thread> threads;
    for (int rank = 0; rank < kRanks; ++rank) {
      threads.emplace_back([&, rank] { worlds_[rank] = *ProcessWorld::Connect(rank, kRanks, store, {}); });
    }
    for (std::thread& thread : threads) thread.join();
    for (int rank = 0; rank < kRanks; ++rank) {
      communicators_[rank] = *worlds_[rank]->CreateCommunicator(0, {0, 1, 2}, rank);
      streams_[rank] = *shared_.CreateStream("comm");
    }
  }
  ~ReadReductionTest() override {
    for (auto& stream : streams_) stream.reset();
    for (auto& communicator : communicators_) communicator.reset();
    std::vector<std::thread> threads;
    for (auto& world : worlds_) threads.emplace_back([&world] { world.reset(); });
    for (std::thread& thread : threads) thread.join();
  }

  std::unique_ptr<Arena> NewArena() { return *shared_.Allocate(kElements * static_cast<int64_t>(sizeof(float))); }

  static Buffer Whole(const Arena& arena) { return {arena.data(), kElements, DType::kF32}; }
  absl::Status AllReduce(int rank, const Arena& in, const Arena& out) {
    return communicators_[rank]->AllReduce(Whole(in), Whole(out), Reduction::kSum, *streams_[rank]);
  }

  // Element i of rank r is i % 1000 + 1000 r: sums are exact.
  static void Fill(Arena& arena, int rank) {
    auto* const values = static_cast<float*>(arena.data());
    for (int64_t i = 0; i < kElements; ++i) values[i] = static_cast<float>(i % 1000 + 1000 * rank);
  }

  // With ins and outs of each rank, which may be the same ones.
  void ExpectSums(const std::vector<Arena*>& ins, const std::vector<Arena*>& outs) {
    for (int rank = 0; rank < kRanks; ++rank) Fill(*ins[rank], rank);
    for (int rank = 0; rank < kRanks; ++rank) {
      ASSERT_TRUE(AllReduce(rank, *ins[rank], *outs[rank]).ok());
    }
    for (const auto& stream : streams_) ASSERT_TRUE(stream->Synchronize().ok());
    for (Arena* const out : outs) {
      const auto* const sums = static_cast<const float*>(out->data());
      int64_t wrong = 0;
      for (int64_t i = 0; i < kElements; ++i) wrong += sums[i] != static_cast<float>(3 * (i % 1000) + 3000);
      EXPECT_EQ(wrong, 0);
    }
    int64_t wire = 0;
    for (const auto& communicator : communicators_) wire += communicator->bytes().wire;
    ++calls_;
    EXPECT_EQ(wire, calls_ * 2 * (kRanks - 1) * kElements * static_cast<int64_t>(sizeof(float)));
  }

  HostDevice shared_{HostDeviceOptions{.shares_arenas = true}};
  std::unique_ptr<ProcessWorld> worlds_[kRanks];
  std::unique_ptr<Communicator> communicators_[kRanks];
  std::unique_ptr<Stream> streams_[kRanks];
  int64_t calls_ = 0;
};

TEST_F(ReadReductionTest, ElsewhereAndInPlace) {
  std::vector<std::unique_ptr<Arena>> arenas;
  std::vector<Arena*> ins, outs;
  for (int rank = 0; rank < kRanks; ++rank) {
    ins.push_back(arenas.emplace_back(NewArena()).get());
    outs.push_back(arenas.emplace_back(NewArena()).get());
  }
  ExpectSums(ins, outs);
  ExpectSums(ins, ins);
}

TEST_F(ReadReductionTest, WhatOthersCannotMapIsRefused) {
  HostDevice plain;
  const auto hidden = *plain.Allocate(kElements * static_cast<int64_t>(sizeof(float))), seen = NewArena();
  for (const auto& [in, out] : {std::pair{hidden.get(), seen.get()}, {seen.get(), hidden.get()}}) {
    const absl::Status refused = AllReduce(1, *in, *out);
    EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_NE(std::string(refused.message()).find("rank 1 has it in no memory that the others on this host can map"),
              std::string::npos)
        << refused;
  }
}

// Another one has the descriptor, and perhaps the place, of one that is gone.
TEST_F(ReadReductionTest, ArenasComeAndGo) {
  for (int time = 0; time < 3; ++time) {
    std::vector<std::unique_ptr<Arena>> arenas;
    std::vector<Arena*> ins;
    for (int rank = 0; rank < kRanks; ++rank) ins.push_back(arenas.emplace_back(NewArena()).get());
    ExpectSums(ins, ins);
  }
}

}  // namespace
}  // namespace partita
