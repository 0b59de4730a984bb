// NcclWorld among processes over the emulated NCCL: what captured steps compute, and what a lost peer does to them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/comm/nccl/nccl_world.h"
#include "runtime/device/cuda/cuda_device.h"
#include "tests/runtime/comm/nccl/emulated/processes.h"

namespace partita {
namespace {

using ::testing::HasSubstr;

constexpr int kRanks = 3;

// What the ranks say to each other before they can talk by NCCL, in memory that they share.
struct Board {
  struct Words {
    std::atomic<size_t> size;  // 0: not written yet
    char text[4096];
  };
  Words words[kRanks];

  std::vector<std::string> Exchange(int rank, const std::string& own) {
    std::memcpy(words[rank].text, own.data(), own.size());
    words[rank].size = own.size();
    std::vector<std::string> all;
    for (Words& one : words) {
      while (one.size == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      all.emplace_back(one.text, one.size);
    }
    return all;
  }
};

Board* NewBoard() {
  void* const shared = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return new (shared) Board();
}

// The world of a rank, with one group of all.
class World {
 public:
  World(Rank& rank, Board& board) : rank_(rank.rank) {
    device_ = *CudaDevice::Create({rank.rank, false, &rank.cuda.api()});
    stream_ = *device_->CreateStream("comm", StreamPriority::kHigh);
    arena_ = *device_->Allocate(1024 * sizeof(float));
    NcclWorldOptions options;
    options.api = &rank.api;
    options.device = device_.get();
    options.rank = rank.rank;
    options.ranks = kRanks;
    options.groups = {{0, 1, 2}};
    options.host = "host " + std::to_string(rank.rank);
    options.poll_every = std::chrono::milliseconds(1);
    options.exchange = [&board, rank = rank.rank](const std::string& own) -> absl::StatusOr<std::vector<std::string>> {
      return board.Exchange(rank, own);
    };
    world_ = *NcclWorld::Create(std::move(options));
    communicator_ = *world_->CreateCommunicator(0, {0, 1, 2}, rank.rank);
  }

  absl::Status Capture() {
    RETURN_IF_ERROR(device_->BeginCapture(std::vector<Stream*>{stream_.get()}));
    const absl::Status status = Enqueue();
    absl::StatusOr<std::unique_ptr<CapturedStep>> step = device_->EndCapture();
    RETURN_IF_ERROR(status);
    RETURN_IF_ERROR(step.status());
    step_ = *std::move(step);
    return absl::OkStatus();
  }

  absl::Status Replay() {
    RETURN_IF_ERROR(step_->Launch());
    return step_->Wait();
  }

  float* at(int64_t i) { return static_cast<float*>(arena_->data()) + i; }

 private:
  Buffer In(int64_t first, int64_t count) { return {at(first), count, DType::kF32}; }

  absl::Status Enqueue() {
    const std::vector<int64_t> even = {2, 2, 2}, uneven = {5, 0, 1};
    RETURN_IF_ERROR(communicator_->AllReduce(In(0, 6), In(0, 6), Reduction::kSum, *stream_));
    RETURN_IF_ERROR(communicator_->AllGather(In(10 + 2 * rank_, 2), In(10, 6), even, *stream_));
    RETURN_IF_ERROR(communicator_->AllGather(In(20, uneven[rank_]), In(30, 6), uneven, *stream_));
    RETURN_IF_ERROR(communicator_->ReduceScatter(In(40, 6), In(50, uneven[rank_]), uneven, Reduction::kMax, *stream_));
    RETURN_IF_ERROR(communicator_->Broadcast(In(60, 3), In(60, 3), 1, *stream_));
    RETURN_IF_ERROR(communicator_->Reduce(In(70, 3), In(80, rank_ == 2 ? 3 : 0), 2, Reduction::kSum, *stream_));
    const std::vector<int64_t> ones(kRanks, 1);
    return communicator_->AllToAll(In(90, 3), ones, In(100, 3), ones, *stream_);
  }

  const int rank_;
  std::unique_ptr<CudaDevice> device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Arena> arena_;
  std::unique_ptr<NcclWorld> world_;
  std::unique_ptr<Communicator> communicator_;
  std::unique_ptr<CapturedStep> step_;
};

std::vector<float> Values(const float* from, int64_t count) { return {from, from + count}; }

TEST(WorldAmongProcesses, CapturedStepsComputeWhatTheyAreAskedFor) {
  Board* const board = NewBoard();
  OnProcesses(kRanks, [&](Rank& rank) {
    World world(rank, *board);
    ASSERT_EQ(world.Capture(), absl::OkStatus());
    const auto own = static_cast<float>(rank.rank);
    for (int replay = 0; replay < 3; ++replay) {
      for (int i = 0; i < 110; ++i) *world.at(i) = 100 * own + static_cast<float>(i + replay);
      ASSERT_EQ(world.Replay(), absl::OkStatus());
      const auto r = static_cast<float>(replay);
      EXPECT_EQ(*world.at(5), 300 + 3 * (5 + r));
      EXPECT_EQ(Values(world.at(10), 6), (std::vector{10 + r, 11 + r, 112 + r, 113 + r, 214 + r, 215 + r}));
      EXPECT_EQ(Values(world.at(30), 6), (std::vector{20 + r, 21 + r, 22 + r, 23 + r, 24 + r, 220 + r}));
      if (rank.rank == 0) {
        EXPECT_EQ(Values(world.at(50), 2), (std::vector{240 + r, 241 + r}));
      }
      if (rank.rank == 2) {
        EXPECT_EQ(*world.at(50), 245 + r);
      }
      EXPECT_EQ(*world.at(62), 162 + r);
      if (rank.rank == 2) {
        EXPECT_EQ(*world.at(80), 300 + 3 * (70 + r));
      }
      EXPECT_EQ(Values(world.at(100), 3), (std::vector{90 + own + r, 190 + own + r, 290 + own + r}));
    }
    EXPECT_TRUE(rank.nccl.reports().empty());
  });
}

TEST(WorldAmongProcesses, APeerThatIsKilledEndsTheStepsOfAll) {
  Board* const board = NewBoard();
  OnProcesses(kRanks, [&](Rank& rank) {
    World world(rank, *board);
    ASSERT_EQ(world.Capture(), absl::OkStatus());
    ASSERT_EQ(world.Replay(), absl::OkStatus());
    if (rank.rank == 1) _exit(0);
    const absl::Status status = world.Replay();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("all_reduce of 6 f32 (sum), sequence number 8: in the background: remote process exited"));
  });
}

}  // namespace
}  // namespace partita
