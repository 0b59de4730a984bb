// Ranks that do not come, leave early, or live elsewhere. What all communicators promise is in tests/conformance.
#include "runtime/comm/processes/process_world.h"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <thread>

#include "runtime/comm/memory_store.h"
#include "runtime/device/host/host_device.h"

namespace partita {
namespace {

using std::chrono::milliseconds;

std::vector<std::unique_ptr<ProcessWorld>> Connect(int ranks, ProcessWorldOptions options = {}) {
  MemoryStore store;
  options.probe_after = milliseconds(20);
  std::vector<std::unique_ptr<ProcessWorld>> worlds(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] { worlds[rank] = *ProcessWorld::Connect(rank, ranks, store, options); });
  }
  for (std::thread& thread : threads) thread.join();
  return worlds;
}

bool Says(const absl::Status& status, const std::string& words) {
  return std::string(status.message()).find(words) != std::string::npos;
}

TEST(ProcessWorld, NamesTheRankThatDoesNotCome) {
  MemoryStore store;
  ProcessWorldOptions options;
  options.connect_timeout = milliseconds(100);
  const auto world = ProcessWorld::Connect(0, 2, store, options);
  EXPECT_EQ(world.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(Says(world.status(), "rank 1 does not come")) << world.status();
}

TEST(ProcessWorld, RefusesAnAddressThatIsNotHere) {
  MemoryStore store;
  ProcessWorldOptions options;
  options.address = "203.0.113.1";  // of the documentation's network: RFC 5737
  const auto world = ProcessWorld::Connect(0, 2, store, options);
  EXPECT_EQ(world.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(Says(world.status(), "cannot listen on 203.0.113.1")) << world.status();
}

TEST(ProcessWorld, RefusesRanksThatLiveElsewhere) {
  const auto worlds = Connect(2);
  const auto other = worlds[0]->CreateCommunicator(0, {0, 1}, 1);
  EXPECT_EQ(other.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(Says(other.status(), "rank 1 does not live in this process")) << other.status();
  EXPECT_TRUE(worlds[0]->CreateCommunicator(0, {0, 1}, 0).ok());
  EXPECT_TRUE(Says(worlds[0]->CreateCommunicator(0, {0, 1}, 0).status(), "joined already"));
}

// All ranks hear of it, before any of them has sent a thing.
TEST(ProcessWorld, RanksThatDoNotAgreeAreToldSo) {
  const auto meet = [](const std::function<void(ProcessWorldOptions&)>& change) {
    MemoryStore store;
    std::vector<absl::Status> met(2);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < 2; ++rank) {
      threads.emplace_back([&, rank] {
        ProcessWorldOptions options{.token = "a token", .tls = true, .connect_timeout = std::chrono::seconds(1)};
        if (rank == 1) change(options);
        met[rank] = ProcessWorld::Connect(rank, 2, store, options).status();
      });
    }
    for (std::thread& thread : threads) thread.join();
    return met;
  };
  for (const absl::Status& status : meet([](ProcessWorldOptions& options) { options.tls = false; })) {
    EXPECT_EQ(status, absl::InvalidArgumentError("ranks do not agree on TLS: rank 0 has it, rank 1 has not"));
  }
  const std::vector<absl::Status> wrong = meet([](ProcessWorldOptions& options) { options.token = "another"; });
  EXPECT_TRUE(Says(wrong[0], "no connection from rank 1")) << wrong[0];
  EXPECT_TRUE(Says(wrong[1], "no connection to rank 0: it has another token")) << wrong[1];
}

// It answers all the while.
TEST(ProcessWorld, NoWaitIsWithoutEnd) {
  ProcessWorldOptions options;
  options.longest_wait = milliseconds(100);
  const auto worlds = Connect(2, options);
  HostDevice device;
  const std::unique_ptr<Communicator> communicator = *worlds[0]->CreateCommunicator(0, {0, 1}, 0);
  const std::unique_ptr<Stream> stream = *device.CreateStream("comm");
  float x = 1;
  const Buffer one{&x, 1, DType::kF32};
  ASSERT_TRUE(communicator->AllReduce(one, one, Reduction::kSum, *stream).ok());
  const absl::Status status = stream->Synchronize();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(Says(status, "rank 1 has been waited for longer than 100 ms")) << status;
}

// A rank that is ready leaves; the others go on, and who waits for it is told so.
TEST(ProcessWorld, ARankMayLeave) {
  constexpr int kRanks = 3;
  auto worlds = Connect(kRanks);
  std::vector<std::unique_ptr<HostDevice>> devices;
  std::vector<std::unique_ptr<Communicator>> all, rest;
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<float> x(kRanks, 1);
  for (int r = 0; r < kRanks; ++r) {
    devices.push_back(std::make_unique<HostDevice>());
    all.push_back(*worlds[r]->CreateCommunicator(0, {0, 1, 2}, r));
    if (r < 2) rest.push_back(*worlds[r]->CreateCommunicator(1, {0, 1}, r));
    streams.push_back(*devices[r]->CreateStream("comm"));
    const Buffer buffer{&x[r], 1, DType::kF32};
    ASSERT_TRUE(all[r]->AllReduce(buffer, buffer, Reduction::kSum, *streams[r]).ok());
  }
  for (const auto& stream : streams) EXPECT_TRUE(stream->Synchronize().ok());
  streams.pop_back();
  all.pop_back();
  worlds.pop_back();
  EXPECT_EQ(worlds[0]->InFlight(), "");
  for (int r = 0; r < 2; ++r) {
    const Buffer buffer{&x[r], 1, DType::kF32};
    ASSERT_TRUE(rest[r]->AllReduce(buffer, buffer, Reduction::kSum, *streams[r]).ok());
  }
  for (const auto& stream : streams) EXPECT_TRUE(stream->Synchronize().ok());
  EXPECT_EQ(x[0], 6);
  for (int r = 0; r < 2; ++r) {
    const Buffer buffer{&x[r], 1, DType::kF32};
    ASSERT_TRUE(all[r]->AllReduce(buffer, buffer, Reduction::kSum, *streams[r]).ok());
  }
  for (const auto& stream : streams) EXPECT_EQ(stream->Synchronize().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace partita
